import { openWriteBack, type OpenWriteBack } from "../compose/origins.ts";
import { HistoryContents } from "../replication/contents/history-contents.ts";
import { LogHistory } from "../replication/contents/log-history.ts";
import type { OriginOptions } from "../replication/origin/origin-session.ts";
import { MemoryReplicaCursors } from "../replication/origin/replica-cursors.ts";
import type { WriteBackTarget } from "../replication/origin/write-back-intake.ts";
import { FileEventLog } from "../storage/files/file-event-log.ts";
import { storeLayout } from "../storage/layout.ts";
import { HEARTBEAT_MS, RigOrigin, talk, type RigReplica, type Talk, type TalkOptions } from "./push-rig.ts";
import type { MemoryJournal } from "./memory-journal.ts";
import type { VirtualClock } from "./virtual-clock.ts";
import type { WriteBackRig } from "./write-back-rig.ts";

/** The options for sessions of an origin that is an engine. */
export class WritingOrigin implements AsyncDisposable {
  readonly rig: WriteBackRig;
  readonly history: LogHistory;
  readonly options: Omit<OriginOptions, "timers">;
  readonly #open: OpenWriteBack;
  readonly #listening: Disposable;

  /** `through`: the target as the sessions see it. */
  constructor(rig: WriteBackRig, through: (target: WriteBackTarget) => WriteBackTarget = (same) => same) {
    this.rig = rig;
    const files = storeLayout("/store").workspace(rig.workspaceId);
    this.history = new LogHistory(rig.workspaceId, new FileEventLog(rig.seen, files));
    this.#listening = rig.context.recorded.listen(() => this.history.changed.emit());
    const contents = new HistoryContents(rig.context);
    this.#open = openWriteBack(rig.context, contents);
    const { parts } = this.#open;
    const writeBack = { ...parts, target: through(parts.target) };
    const cursors = new MemoryReplicaCursors();
    this.options = { history: this.history, contents, cursors, writeBack, heartbeatMs: HEARTBEAT_MS };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening[Symbol.dispose]();
    await this.#open[Symbol.asyncDispose]();
    await this.rig[Symbol.asyncDispose]();
  }
}

/** Connects a replica that writes back with its origin, and runs both sides. */
export function writingTalk(
  clock: VirtualClock,
  origin: WritingOrigin,
  { replica, journal }: { readonly replica: RigReplica; readonly journal: MemoryJournal },
  options: TalkOptions = {},
): Talk {
  return talk(clock, new RigOrigin(), replica, {
    ...options,
    origin: { ...origin.options, ...options.origin },
    replica: { journal, ...options.replica },
  });
}
