import type { MessageOf } from "../protocol/messages.ts";

/** An origin's report about itself. */
export interface OriginWord {
  /** Its last event. */
  readonly sequence: number;
  /** Since when its folder is missing, by its clock (epoch milliseconds). */
  readonly folderAwaySince?: number | undefined;
  /** Sent when it admits a replica: true if it takes no writes of that replica. */
  readonly isReadOnly?: boolean;
}

/** Returns the report in a heartbeat. */
export function wordOf({ agent_sequence, folder_away_since }: MessageOf<"Heartbeat">): OriginWord {
  return { sequence: agent_sequence, folderAwaySince: folder_away_since };
}
