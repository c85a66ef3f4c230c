import { ChronicleError } from "../../../core/values/errors.ts";
import type { Hash } from "../../../core/values/hash.ts";
import type { ReplicaHalt, ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { Channel } from "../../channel.ts";
import type { Mirror } from "../../replica/mirror.ts";
import { ReplicaSession, type ReplicaOptions } from "../../replica/replica-session.ts";
import type { WitnessNotes } from "../../replica/witness-notes.ts";
import type { WriteJournal } from "../../replica/write-journal.ts";
import type { Timers } from "../../../util/timers.ts";
import { ConnectionKeeper, type LinkState } from "./connection-keeper.ts";
import { lackedContents } from "../paths/lacked-contents.ts";
import { isViolation } from "../../protocol/wire-errors.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";
import { optional } from "../../../util/optional.ts";

/** What a replica talks to its origin with. */
export interface OriginLinkOptions {
  readonly mirror: Mirror;
  /** What a session stands on, beside what is named here. */
  readonly session: Pick<ReplicaOptions, "upstream" | "blobs" | "notes" | "withheld" | "token" | "early">;
  readonly connect: (signal: AbortSignal) => Promise<Channel>;
  readonly journal: WriteJournal;
  readonly rules: ReplicatedPaths;
  /** Contents have come that were not taken when their events came. */
  readonly onRegained: () => void;
  readonly record: () => ReplicaRecord;
  readonly timers: Timers;
  readonly random: () => number;
  /** The connection is in another state, or the origin has said something of itself. */
  readonly onChange: () => void;
  /** The origin takes from now on what this replica writes, which it did not before. */
  readonly onMayWrite: () => void;
  /** How much of a first sync has come. */
  readonly onReceived: (done: number, total: number) => void;
  /** How much of a large content has come, or gone. */
  readonly onBytes: NonNullable<ReplicaOptions["onBytes"]>;
  /** The origin will not have this replica. */
  readonly onRefused: (why: ReplicaHalt) => void;
}

/** A replica's connection to its origin, which may be begun and ended again and again. */
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

  /** Why it is not connected. */
  get error(): ChronicleError | undefined {
    return this.#error;
  }

  /** The conversation, while the origin has let this replica in. */
  get session(): ReplicaSession | undefined {
    return this.#keeper?.session;
  }

  /** The last event that the origin has, as far as it has told. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Is the origin there, and everything held that it has told of? */
  get isCaughtUp(): boolean {
    return this.session !== undefined && this.#options.mirror.head.seq >= this.#sequence;
  }

  /** Is the origin about to be there, or there with more than is held? */
  get isCatchingUp(): boolean {
    return this.#state === "connecting" || (this.session !== undefined && !this.isCaughtUp);
  }

  /** Since when the origin's folder is not there, by its clock (epoch milliseconds), as far as it is known. */
  get folderAwaySince(): number | undefined {
    return this.#state === "connected" ? this.#folderAwaySince : undefined;
  }

  /** Does the origin take nothing of this replica's, as it has said last? */
  get isReadOnly(): boolean {
    return this.#isReadOnly;
  }

  /** Has the origin ever let this replica in, in the life of this object? */
  get wasReached(): boolean {
    return this.#wasReached;
  }

  start(): void {
    if (this.#keeper !== undefined) return;
    this.#become("connecting", undefined);
    const { connect, timers, random, session } = this.#options;
    const keeper = new ConnectionKeeper({
      connect,
      timers,
      random,
      isFinal: () => hasWitnessed(session.notes),
      onChange: (state, error) => this.#changed(state, error),
      begin: (channel, welcome) => this.#begin(channel, welcome),
    });
    this.#keeper = keeper;
    keeper.start();
  }

  /** Resolves when nothing goes on any more. */
  async stop(): Promise<void> {
    const keeper = this.#keeper;
    this.#keeper = undefined;
    await keeper?.stop();
    if (this.#keeper === undefined) this.#become("ended", undefined);
  }

  /** Does not wait any longer before it tries again. */
  hurry(): void {
    this.#keeper?.hurry();
  }

  /** Something else is wanted than before. */
  regain(): void {
    this.#hasRegained = false;
    this.session?.regain();
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
      // What a folder has already is no news: it is for the step to say what is.
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
        // One that was put back to an earlier state has fewer events than it has told of in a conversation before.
        this.#sequence = isMet ? Math.max(this.#sequence, sequence) : sequence;
        isMet = true;
        this.#folderAwaySince = folderAwaySince;
        welcome();
        this.#options.onChange();
      },
    });
  }

  /** Once, until what is wanted is something else. */
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
    // It halts with that, which is told: it is not offline before.
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

/** A word for programs. */
function reasonOf({ code }: ChronicleError): string {
  return code === "ROLLBACK_DETECTED" ? "forked" : code.toLowerCase();
}

/** As it is told while it is tried again. */
function explained(error: ChronicleError): ChronicleError {
  if (!isViolation(error)) return error;
  const {
    code,
    message,
    hint = "it is tried again, after longer and longer waits; if it stays so, see to the origin, and whether both sides have the same version of chronicle",
    data,
  } = error;
  return new ChronicleError(code, `the origin has sent what it must not: ${message}`, { hint, data, cause: error });
}

/** Has the origin told another history than before? A note that cannot be read any more may have said so. */
function hasWitnessed(notes: WitnessNotes): boolean {
  try {
    return notes.get() !== undefined;
  } catch (error) {
    return error instanceof ChronicleError && error.code === "LOG_DAMAGED";
  }
}
