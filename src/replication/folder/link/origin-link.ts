import type { Entry } from "../../../core/values/entry.ts";
import type { Hash } from "../../../core/values/hash.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { BlobStore } from "../../../storage/blob-store.ts";
import { withBreaths } from "../../../util/yield-to-event-loop.ts";
import type { Mirror } from "../../replica/mirror.ts";
import type { WithheldContents } from "../../replica/withheld-contents.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { ReplicaHalt, ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { Channel } from "../../channel.ts";
import { ReplicaSession, type ReplicaOptions } from "../../replica/replica-session.ts";
import type { WitnessNotes } from "../../replica/witness-notes.ts";
import type { WriteJournal } from "../../replica/write-journal.ts";
import type { Timers } from "../../../util/timers.ts";
import { ConnectionKeeper, type LinkState } from "./connection-keeper.ts";
import { isViolation, notOffered } from "../../protocol/wire-errors.ts";
import { optional } from "../../../util/optional.ts";

export interface OriginLinkOptions {
  readonly mirror: Mirror;
  readonly session: Pick<ReplicaOptions, "upstream" | "blobs" | "notes" | "withheld" | "token" | "early">;
  readonly connect: (signal: AbortSignal) => Promise<Channel>;
  readonly journal: WriteJournal;
  readonly rules: ReplicatedPaths;
  /** Called when contents that were not sent together with their events have arrived. */
  readonly onRegained: () => void;
  readonly record: () => ReplicaRecord;
  readonly timers: Timers;
  readonly random: () => number;
  /** Called when the connection's state has changed, or when the origin has reported its state. */
  readonly onChange: () => void;
  /** Called when the origin begins to accept this replica's changes. */
  readonly onMayWrite: () => void;
  readonly onReceived: (done: number, total: number) => void;
  readonly onBytes: NonNullable<ReplicaOptions["onBytes"]>;
  /**
   * Called when the link has ended for good, because the origin refuses this replica, or because the origin's history
   * contradicts the history that this replica holds.
   */
  readonly onRefused: (why: ReplicaHalt) => void;
}

/** A replica's connection to its origin. It can be started and stopped repeatedly. */
export class OriginLink {
  readonly #options: OriginLinkOptions;
  #keeper: ConnectionKeeper | undefined;
  #state: LinkState = "ended";
  #error: ChronicleError | undefined;
  #sequence = 0;
  #wasReached = false;
  #folderAwaySince: number | undefined;
  #isReadOnly = false;
  #hasRegained = false;

  constructor(options: OriginLinkOptions) {
    this.#options = options;
  }

  get state(): LinkState {
    return this.#state;
  }

  /** The error that ended the last attempt or connection; `undefined` if it ended without an error. */
  get error(): ChronicleError | undefined {
    return this.#error;
  }

  /** The session with the origin; `undefined` while the origin has not admitted this replica. */
  get session(): ReplicaSession | undefined {
    return this.#keeper?.session;
  }

  /** The seq of the last event that the origin has reported. */
  get sequence(): number {
    return this.#sequence;
  }

  get isCaughtUp(): boolean {
    return this.session !== undefined && this.#options.mirror.head.seq >= this.#sequence;
  }

  /** True if the link is connecting, or is connected and the origin has reported events that the mirror lacks. */
  get isCatchingUp(): boolean {
    return this.#state === "connecting" || (this.session !== undefined && !this.isCaughtUp);
  }

  /** The time since which the origin's folder is missing, in epoch milliseconds by the origin's clock. */
  get folderAwaySince(): number | undefined {
    return this.#state === "connected" ? this.#folderAwaySince : undefined;
  }

  /** True if the origin's last report says that the origin accepts no changes from this replica. */
  get isReadOnly(): boolean {
    return this.#isReadOnly;
  }

  /** True if the origin has admitted this replica since this object was made. */
  get wasReached(): boolean {
    return this.#wasReached;
  }

  start(): void {
    if (this.#keeper !== undefined) return;
    this.#become("connecting", undefined);
    const { timers, random, session } = this.#options;
    const keeper = new ConnectionKeeper({
      connect: (signal) => this.#connect(signal),
      timers,
      random,
      isFinal: () => hasWitnessed(session.notes),
      onChange: (state, error) => this.#changed(state, error),
      begin: (channel, welcome) => this.#begin(channel, welcome),
    });
    this.#keeper = keeper;
    keeper.start();
  }

  /** Resolves when no attempt and no connection is left. `start` can be called again. */
  async stop(): Promise<void> {
    const keeper = this.#keeper;
    this.#keeper = undefined;
    await keeper?.stop();
    if (this.#keeper === undefined) this.#become("ended", undefined);
  }

  /** Makes the next attempt now, if the link is waiting to connect again. */
  hurry(): void {
    this.#keeper?.hurry();
  }

  /**
   * Requests again all contents that this replica lacks. Must be called when the set of wanted contents has changed.
   */
  regain(): void {
    this.#hasRegained = false;
    this.session?.regain();
  }

  /**
   * Opens a channel. A server that answers 404 offers no replication. A replica that already has an origin treats this
   * answer as temporary, because the server may offer replication again.
   */
  async #connect(signal: AbortSignal): Promise<Channel> {
    const { connect, record } = this.#options;
    try {
      return await connect(signal);
    } catch (error) {
      const isOff = error instanceof ChronicleError && error.data["status"] === 404 && record().origin !== "";
      throw isOff ? notOffered(error) : error;
    }
  }

  #begin(channel: Channel, welcome: () => void): ReplicaSession {
    const { mirror, session, rules, journal, timers } = this.#options;
    const { origin, workspace: asked, sandboxId, applied, withProtected } = this.#options.record();
    const workspace = mirror.workspace === "" ? origin : mirror.workspace;
    let isMet = false;
    return new ReplicaSession(channel, {
      ...session,
      mirror,
      sandboxId,
      withProtected,
      // If the folder was never reconciled, files are written early: before the first step (a reconciliation of both
      // sides). In any other folder, a step decides which files are written.
      early: applied === 0 ? session.early : undefined,
      ...(workspace === "" ? {} : { workspace }),
      ...optional({ asked }),
      wants: (path) => rules.isShared(path, false),
      lacked: async () => this.#lacked(),
      onRegained: this.#options.onRegained,
      onReceived: this.#options.onReceived,
      onBytes: this.#options.onBytes,
      journal,
      timers,
      onOrigin: ({ sequence, folderAwaySince, isReadOnly = this.#isReadOnly }) => {
        const mayWriteNow = this.#isReadOnly && !isReadOnly;
        this.#isReadOnly = isReadOnly;
        if (mayWriteNow) this.#options.onMayWrite();
        // Use the first report of a session unchanged, even if its number is lower than the known one. An origin that
        // was put back to an earlier state has fewer events than it reported before.
        this.#sequence = isMet ? Math.max(this.#sequence, sequence) : sequence;
        isMet = true;
        this.#folderAwaySince = folderAwaySince;
        welcome();
        this.#options.onChange();
      },
    });
  }

  /**
   * Returns the hashes of the contents that this replica lacks. Once a search has found no such content, returns `[]`
   * without a search until `regain` is called.
   */
  async #lacked(): Promise<readonly Hash[]> {
    if (this.#hasRegained) return [];
    const { mirror, rules, session } = this.#options;
    const { blobs, withheld } = session;
    const hashes = withheld === undefined ? [] : await lackedContents({ mirror, blobs, withheld, rules });
    this.#hasRegained = hashes.length === 0;
    return hashes;
  }

  #changed(state: LinkState, error: ChronicleError | undefined): void {
    if (state === "connected") this.#wasReached = true;
    if (state !== "refused" || error === undefined)
      return this.#become(state, error === undefined ? undefined : explained(error));
    // `onChange` is not called, because it would report an offline link just before `onRefused` reports the halt.
    [this.#state, this.#error] = [state, error];
    const reason = hasWitnessed(this.#options.session.notes) ? "diverged" : reasonOf(error);
    this.#options.onRefused({ reason, detail: error.message });
  }

  #become(state: LinkState, error: ChronicleError | undefined): void {
    this.#state = state;
    this.#error = error;
    this.#options.onChange();
  }
}

function reasonOf({ code }: ChronicleError): string {
  return code === "ROLLBACK_DETECTED" ? "forked" : code.toLowerCase();
}

function explained(error: ChronicleError): ChronicleError {
  if (!isViolation(error)) return error;
  const {
    code,
    message,
    hint = "the connection is tried again, after longer and longer waits; if that does not help, check the origin, and that both sides have the same version of chronicle",
    data,
  } = error;
  return new ChronicleError(code, `the origin has sent what it must not: ${message}`, { hint, data, cause: error });
}

/** True if a note says that the origin has sent a contradictory history. A damaged note counts, too. */
function hasWitnessed(notes: WitnessNotes): boolean {
  try {
    return notes.get() !== undefined;
  } catch (error) {
    return error instanceof ChronicleError && error.code === "LOG_DAMAGED";
  }
}

interface LackingFolder {
  readonly mirror: Pick<Mirror, "head" | "entriesAt">;
  readonly blobs: Pick<BlobStore, "has">;
  readonly withheld: WithheldContents;
  readonly rules: Pick<ReplicatedPaths, "isShared" | "keepsApart">;
}

/**
 * Returns the hashes of the contents that were withheld, and that the folder now needs for the origin's present files.
 * A content is needed now if, for example, a person has since removed a filter or requested secrets.
 */
async function lackedContents({ mirror, blobs, withheld, rules }: LackingFolder): Promise<readonly Hash[]> {
  const listed = withheld.list();
  if (listed.size === 0) return [];
  const wanted = new Set<Hash>();
  const isWanted = (path: WorkspacePath, remote: Entry): boolean =>
    rules.isShared(path, false) && !rules.keepsApart({ path, local: undefined, remote });
  for await (const rows of withBreaths(mirror.entriesAt(mirror.head.seq)))
    for (const { path, entry } of rows)
      if (entry?.hash !== undefined && listed.has(entry.hash) && isWanted(path, entry)) wanted.add(entry.hash);
  const held = await blobs.has([...wanted]);
  return [...wanted].filter((hash) => !held.has(hash));
}
