import type { MessageOf } from "../protocol/messages.ts";

/** What an origin says of itself. */
export interface OriginWord {
  /** Its last event. */
  readonly sequence: number;
  /** Its folder is not there since then, by its clock (epoch milliseconds). */
  readonly folderAwaySince?: number | undefined;
  /** Said when it lets a replica in: does it take nothing of what that one writes? */
  readonly isReadOnly?: boolean;
}

/** What a heartbeat says of it. */
export function wordOf({ agent_sequence, folder_away_since }: MessageOf<"Heartbeat">): OriginWord {
  return { sequence: agent_sequence, folderAwaySince: folder_away_since };
}
