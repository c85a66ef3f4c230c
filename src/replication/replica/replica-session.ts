import type { MessageOf, Message } from "../protocol/messages.ts";
import type { LogEvent, SealedEvent } from "../../core/values/event.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { asFatal, type Channel, type ChannelEnd } from "../channel.ts";
import { pathFromFields } from "../protocol/message-fields.ts";
import { EventContents, type ArrivedEvent, type NotTaken, type TakeRules } from "./event-contents.ts";
import { changesOf } from "../../core/values/file-record.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import { agreedOn, type Capability, refuseUnagreed } from "../protocol/capabilities.ts";
import { PROTOCOL_VERSION } from "../protocol/limits.ts";
import { HeartbeatTimer, silent } from "../heartbeat-timer.ts";
import { ContentServer } from "../contents/content-server.ts";
import { NODE_TIMERS, type Timers } from "../../util/timers.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import { addAll } from "../../util/long-lists.ts";
import { Waiters } from "../waiters.ts";
import { Barriers } from "./barriers.ts";
import { BlockFetch } from "./block-fetch.ts";
import { ContentFetch } from "../contents/content-fetch.ts";
import { ErasureFetch } from "./erasure-fetch.ts";
import { ContentIntake } from "./content-intake.ts";
import { IncomingEvents } from "./incoming-events.ts";
import type { UpstreamLines } from "./upstream.ts";
import type { Mirror } from "./mirror.ts";
import { TreeFetch } from "./tree-fetch.ts";
import { TreeResync, type ResyncGoal } from "./tree-resync.ts";
import { Witness, witnessed, type WitnessNotes } from "./witness-notes.ts";
import { capabilitiesOf, replicaHello } from "./replica-hello.ts";
import { WriteBackPush } from "./write-back-push.ts";
import type { WriteJournal } from "./write-journal.ts";
import type { WithheldContents } from "./withheld-contents.ts";

interface OriginReport {
  readonly sequence: number;
  /** The time since which the origin's folder is missing, by the origin's clock (epoch milliseconds). */
  readonly folderAwaySince?: number | undefined;
  /** True if the origin accepts no changes from this replica. Set only in the first report. */
  readonly isReadOnly?: boolean;
}

function reportOf({ agent_sequence, folder_away_since }: MessageOf<"Heartbeat">): OriginReport {
  return { sequence: agent_sequence, folderAwaySince: folder_away_since };
}

export interface ReplicaOptions extends TakeRules {
  readonly sandboxId: string;
  /** The id of the workspace. Default: the origin chooses the workspace (docs/protocol.md, `Hello`). */
  readonly workspace?: string;
  /** The text by which the user named the workspace, if that was not its id. */
  readonly asked?: string;
  /** True to request the contents of protected files, too. Default: these contents stay at the origin. */
  readonly withProtected?: boolean | undefined;
  /** The token, unless the transport has already presented it. */
  readonly token?: string;
  readonly upstream: UpstreamLines;
  /**
   * Given if the replica can reconcile in full, that is, take over the origin's state if it cannot follow the events
   * any more. Must be the same object as `upstream`. If omitted, the session of a replica that cannot follow ends with
   * an error.
   */
  readonly mirror?: Mirror;
  readonly blobs: BlobStore;
  readonly notes: WitnessNotes;
  readonly withheld?: WithheldContents;
  /** Resolves to the contents that were not stored when their events arrived, and are wanted now. Default: none. */
  readonly lacked?: (() => Promise<readonly Hash[]>) | undefined;
  /** Called after some of the lacked contents were fetched and stored. Must not throw. */
  readonly onRegained?: () => void;
  /** Default: nothing is written back. */
  readonly journal?: WriteJournal;
  /** The origin's verifier key. Default: signatures of heads are not checked. */
  readonly vkey?: string;
  readonly timers?: Timers;
  /**
   * Called with events in order, after the events and their contents are durable and before the events are
   * acknowledged. Each event is passed at most once in the life of the `upstream` object. After a crash, the receiver
   * reads the missed events from `upstream`, from its own cursor on.
   */
  readonly onEvents?: (events: readonly SealedEvent[]) => Promise<void>;
  /** Called with the progress of a large content that is received or sent. Must not throw. */
  readonly onBytes?: (phase: "receiving" | "sending", done: number, total: number) => void;
  /** Called when the origin has admitted this replica, and with each later report. Must not throw. */
  readonly onOrigin?: (report: OriginReport) => void;
}

/**
 * The number of events at which `#gather` stops. `#gather` also stops when no event has arrived in a turn of the event
 * loop.
 */
const GATHER_MOST = 1_000;

/**
 * The interval of heartbeats, in ms, until the origin states its own interval in `HelloAck`. An origin that needs
 * longer than this for `HelloAck` sends `Credit` meanwhile.
 */
const HANDSHAKE_BEAT_MS = 2_000;

/** The number of bytes between two heartbeats above which the origin counts as sending data. */
const HEARTBEAT_BYTES = 4_096;

const NOTHING_WRITTEN = { localSeq: 0, pending: 0 };

/**
 * The replica's side of a session with its origin (docs/protocol.md). First the contents are made durable, then the
 * lines that name them, and then the events are acknowledged. Therefore, a crash or a broken connection never loses
 * anything that was acknowledged. The next session continues after the last line that this replica holds.
 *
 * The origin is not trusted. Each line is hashed and must follow the line before it. Contents must match their hashes.
 * A history that contradicts what this replica holds ends the session, and is noted (`WitnessNotes`).
 */
export class ReplicaSession {
  readonly #channel: Channel;
  readonly #options: ReplicaOptions;
  #incoming: IncomingEvents;
  readonly #fetch: ContentFetch;
  readonly #blocks: BlockFetch;
  readonly #contents: EventContents;
  readonly #ahead: ContentsAhead;
  readonly #witness: Witness;
  readonly #writeBack: WriteBackPush | undefined;
  readonly #served: ContentServer;
  readonly #held = new Waiters();
  readonly #missing = new Set<Hash>();
  readonly #barriers: Barriers;
  #heartbeatTimer: HeartbeatTimer;
  #isWelcome = false;
  #agreed: ReadonlySet<Capability> = new Set();
  #workspace = "";
  #trees: TreeFetch | undefined;
  #erasures: ErasureFetch | undefined;
  #isEnded = false;
  /** True after a `CatchupRequest`, until an event that follows `#incoming.tail` arrives. */
  #isCatchingUp = false;
  #tailAtBeat = -1;
  #bytesAtBeat = 0;
  /** The running background work: storing, regaining or reconciling. Only one of these runs at a time. */
  #storing: Promise<void> | undefined;
  #regaining: Promise<void> | undefined;

  constructor(channel: Channel, options: ReplicaOptions) {
    this.#channel = channel;
    this.#options = options;
    this.#incoming = new IncomingEvents(options.upstream.head);
    this.#fetch = new ContentFetch(channel);
    this.#blocks = new BlockFetch(channel);
    this.#barriers = new Barriers(channel);
    const intake = new ContentIntake(options.blobs, this.#fetch, {
      blocks: this.#blocks,
      early: options.early,
      onBytes: (done, total) => options.onBytes?.("receiving", done, total),
    });
    this.#contents = new EventContents(options.blobs, intake, options);
    this.#ahead = new ContentsAhead(this.#contents, (error) => this.#channel.close(error));
    this.#witness = new Witness(options);
    const { journal, sandboxId, timers = NODE_TIMERS } = options;
    if (journal !== undefined) this.#writeBack = new WriteBackPush(channel, { sandboxId, journal, timers });
    const served = { open: async (hash: Hash) => this.#writeBack?.open(hash) };
    this.#served = new ContentServer(channel, served, {
      onBytes: (done, total) => options.onBytes?.("sending", done, total),
    });
    this.#held.reach(options.upstream.head.seq);
    this.#heartbeatTimer = this.#heartbeatOf(HANDSHAKE_BEAT_MS);
  }

  /** The contents that events of this session name but that the origin does not have (pruned or withheld). */
  get missing(): ReadonlySet<Hash> {
    return this.#missing;
  }

  /** Resolves once this replica durably holds the event. Rejects with `UNAVAILABLE` if the session ends first. */
  reaches(sequence: number): Promise<void> {
    return this.#held.wait(sequence);
  }

  /**
   * Resolves once this replica holds everything that the origin had at the call (a barrier). The result is the origin's
   * last event at that time. Rejects as `reaches` does. If a `regain` is running and fails, rejects with its error.
   */
  async barrier(): Promise<number> {
    const current = await this.#barriers.ask(this.#options.upstream.head.seq);
    await this.reaches(current);
    await this.#regaining;
    return current;
  }

  /**
   * Resolves when the session has ended and no background work is left. Never rejects, because the channel's end holds
   * the error. If `notes` has a note, the session does not begin, and ends with the error of that note.
   */
  async run(): Promise<ChannelEnd> {
    let own: ChronicleError | undefined;
    try {
      using _listening = this.#options.journal?.changed.listen(() => this.#writeBack?.note());
      const note = this.#options.notes.get();
      if (note !== undefined) throw witnessed(note);
      await this.#channel.send(replicaHello(this.#options));
      for await (const message of this.#channel.receive()) await this.#handle(message);
      this.#channel.close();
    } catch (error) {
      own = asFatal(error);
      this.#channel.close(own);
    }
    this.#isEnded = true;
    this.#heartbeatTimer[Symbol.dispose]();
    this.#fetch.end();
    this.#blocks.end();
    this.#trees?.end();
    this.#erasures?.end();
    this.#writeBack?.end();
    this.#barriers.end();
    this.#held.end();
    await this.#storing;
    await this.#ahead.rest();
    const end = await this.#channel.ended;
    // `#welcome` throws `NOT_FOUND` if the origin answers for another workspace. Such an origin does not know this
    // replica's history, and can therefore end the session first, with another error. Report `NOT_FOUND` even then.
    return own?.code === "NOT_FOUND" && end.by === "peer" ? { by: "us", error: own } : end;
  }

  async #handle(message: Message): Promise<void> {
    if (message.type === "HelloAck") return this.#welcome(message);
    if (!this.#isWelcome && message.type !== "Error") {
      // A network that reorders frames can deliver other messages before `HelloAck`. Ignored events are sent again.
      return;
    }
    refuseUnagreed(message, this.#agreed);
    switch (message.type) {
      case "Notification":
      case "Rename":
      case "Events":
        return this.#arrived(message);
      case "WriteBackResult":
        return this.#writeBack?.took(message);
      case "Heartbeat":
        this.#options.onOrigin?.(reportOf(message));
        return this.#heartbeat(message.agent_sequence);
      case "BarrierConfirmation":
        return this.#barriers.took(message);
      case "HeadWitness":
        return this.#witness.heard(message);
      case "FullResyncRequired":
        return this.#cannotFollow(message);
      case "TreeResponse":
        return this.#trees?.took(message);
      case "ErasuresResponse":
        return this.#erasures?.took(message);
      case "Error":
        return undefined;
      default:
        return this.#handleContent(message);
    }
  }

  async #handleContent(message: Message): Promise<void> {
    switch (message.type) {
      case "ContentFetchRequest":
        return this.#served.ask(message);
      case "ContentFetchResponse":
      case "ContentNotFound":
        return this.#fetch.took(message);
      case "BlocksResponse":
        return this.#blocks.took(message);
      case "ContentAhead":
        // Ignore the content while other background work runs. The content is then taken with its event.
        if (this.#storing === undefined && this.#trees === undefined) this.#ahead.take(message);
        return undefined;
      default:
        throw new ChronicleError("USAGE", `an origin does not send ${message.type}, or not at this point`);
    }
  }

  async #welcome(message: MessageOf<"HelloAck">): Promise<void> {
    const { version, capabilities, workspace, head, settled_local_seq, heartbeat_ms } = message;
    if (this.#isWelcome) return;
    if (version !== PROTOCOL_VERSION) {
      throw new ChronicleError("FORMAT_UNSUPPORTED", `the origin speaks version ${version} of the protocol`);
    }
    if (this.#options.workspace !== undefined && workspace !== this.#options.workspace) {
      throw new ChronicleError("NOT_FOUND", "the origin answers for another workspace");
    }
    await this.#witness.met(workspace, head);
    await this.#refuseForked(message);
    this.#isWelcome = true;
    this.#agreed = agreedOn(capabilities, capabilitiesOf(this.#options));
    this.#blocks.isKnown = this.#agreed.has("blocks");
    if (this.#writeBack !== undefined) this.#writeBack.sendsExactTimes = this.#agreed.has("times");
    this.#workspace = workspace;
    this.#options.onOrigin?.({ sequence: head.sequence, isReadOnly: this.#agreed.has("read-only") });
    this.#heartbeatTimer[Symbol.dispose]();
    this.#heartbeatTimer = this.#heartbeatOf(heartbeat_ms);
    this.#writeBack?.begin(settled_local_seq, head.sequence);
    this.#barriers.begin();
    this.regain();
  }

  /**
   * Requests the `lacked` contents in the background. Events that arrive meanwhile are stored afterwards, so that no
   * content is requested twice.
   */
  regain(): void {
    const { lacked } = this.#options;
    if (lacked === undefined || !this.#isWelcome || this.#isEnded) return;
    this.#inBackground((this.#regaining = this.#regain(lacked, this.#storing)));
  }

  async #regain(lacked: NonNullable<ReplicaOptions["lacked"]>, before: Promise<void> | undefined): Promise<void> {
    await before;
    if (this.#isEnded) return;
    using _lease = await this.#options.blobs.lease();
    await this.#ahead.rest();
    const hashes = await lacked();
    if (hashes.length > 0 && (await this.#contents.takeAgain(hashes)) > 0) this.#options.onRegained?.();
  }

  /**
   * Throws `ROLLBACK_DETECTED` if the last entry that the origin has decided is not in this replica's history. Without
   * this check, this replica's changes would get the answers to other changes with the same numbers.
   */
  async #refuseForked({ settled_local_seq: settled, settled_hash: hash }: MessageOf<"HelloAck">): Promise<void> {
    const { journal } = this.#options;
    if (journal === undefined || settled === 0 || (await journal.isStillHeld(settled, hash))) return;
    throw forked(settled);
  }

  /**
   * Throws `ROLLBACK_DETECTED` for an event that names this replica as its writer but that this replica did not write.
   * Such an event comes from a copy of this replica, or from this replica before it was put back to an earlier state.
   * Until the copy's entry is answered, only this event reveals the copy.
   */
  async #refuseOther(event: SealedEvent): Promise<void> {
    const { journal, sandboxId } = this.#options;
    // Most events do not come from a replica, and need not be decoded.
    if (event.op !== "upsert" || journal === undefined || event.record["replica"] === undefined) return;
    for (const { path, file } of changesOf(event)) {
      const { replica } = file;
      if (replica?.id !== sandboxId || (await journal.hasWritten(replica.localSeq, path)) !== false) continue;
      throw forked(replica.localSeq);
    }
  }

  async #arrived(message: MessageOf<"Notification"> | MessageOf<"Rename"> | MessageOf<"Events">): Promise<void> {
    // Ignore events during a reconciliation, because those after the new state are sent again.
    if (this.#trees !== undefined) return;
    const taken = this.#witness.watch(this.#incoming.tail, () => this.#incoming.add(message));
    if (taken === "gap") return this.#askAgain();
    if (taken === "old") return;
    this.#isCatchingUp = false;
    this.#store();
  }

  /**
   * Stores the arrived events in the background. The session must go on receiving, because the contents arrive over the
   * same channel.
   */
  #store(): void {
    if (this.#storing === undefined) this.#inBackground(this.#storeAll());
  }

  /** If the work fails, the session ends. Events that arrive during the work are stored after the work. */
  #inBackground(work: Promise<void>): void {
    const storing = work
      .catch((error: unknown) => {
        this.#isEnded = true;
        this.#channel.close(asFatal(error));
      })
      .then(() => {
        // If `#storing` is other work, that work waits for this work, and stores the waiting events at its own end.
        if (this.#storing !== storing) return;
        this.#storing = undefined;
        if (this.#incoming.isWaiting && !this.#isEnded) this.#store();
      });
    this.#storing = storing;
  }

  async #storeAll(): Promise<void> {
    for (let all = await this.#gather(); all.length > 0 && !this.#isEnded; all = await this.#gather()) {
      for (const some of untilCompactions(all)) await this.#storeSome(some);
    }
  }

  async #storeSome(some: readonly ArrivedEvent<SealedEvent>[]): Promise<void> {
    const { upstream, mirror, blobs, onEvents } = this.#options;
    const events = some.map(({ event }) => event);
    for (const event of events) await this.#refuseOther(event);
    {
      // The lease protects the contents from the collector until the lines that name them are durable.
      using _lease = await blobs.lease();
      await this.#ahead.rest();
      if (events[0]?.op === "compact") await mirror?.makeBase(events[0]);
      this.#note(await this.#contents.take(some));
      await upstream.append(events);
    }
    await onEvents?.(events);
    await this.#witness.grown();
    this.#held.reach(upstream.head.seq);
    await this.#channel.send({ type: "Ack", up_to_sequence: upstream.head.seq });
  }

  /**
   * Takes the events that have arrived, and the events that arrive during this call. All of them are then stored
   * together, with few syncs.
   */
  async #gather(): Promise<ArrivedEvent<SealedEvent>[]> {
    const all = this.#incoming.takeAll();
    for (let before = 0; before < all.length && all.length < GATHER_MOST;) {
      before = all.length;
      await yieldToEventLoop();
      addAll(all, this.#incoming.takeAll());
    }
    return all;
  }

  /** Called before the lines that name these contents are stored. */
  #note({ gone, unwanted }: NotTaken): void {
    for (const hash of gone) this.#missing.add(hash);
    this.#options.withheld?.add([...gone, ...unwanted]);
  }

  /**
   * Requests a catch-up if the origin has later events but seems not to send them. This is assumed if no background
   * work runs, and almost nothing has arrived since the previous heartbeat: no event, and at most `HEARTBEAT_BYTES`
   * bytes.
   */
  async #heartbeat(agentSequence: number): Promise<void> {
    const { seq } = this.#incoming.tail;
    const { arrived } = this.#channel;
    // On a slow line, a frame may take longer than a heartbeat interval to arrive.
    const isComing = arrived - this.#bytesAtBeat > HEARTBEAT_BYTES;
    const isIdle = this.#storing === undefined && this.#trees === undefined && !isComing;
    const isStuck = seq === this.#tailAtBeat && isIdle;
    [this.#tailAtBeat, this.#bytesAtBeat] = [seq, arrived];
    if (agentSequence <= seq || !isStuck) return;
    this.#isCatchingUp = false;
    await this.#askAgain();
  }

  /** Requests a catch-up, unless an earlier request is still without any event in answer. */
  async #askAgain(): Promise<void> {
    if (this.#isCatchingUp) return;
    this.#isCatchingUp = true;
    const { seq: since_sequence } = this.#incoming.tail;
    await this.#channel.send({ type: "CatchupRequest", sandbox_id: this.#options.sandboxId, since_sequence });
  }

  /** Starts a full reconciliation if possible. Otherwise, throws an error that says why this replica cannot follow. */
  #cannotFollow({ reason, current_sequence, anchor }: MessageOf<"FullResyncRequired">): void {
    const { upstream, mirror } = this.#options;
    const { seq } = upstream.head;
    if (reason === "diverged") this.#witness.diverged();
    if (anchor !== undefined && mirror !== undefined) {
      const goal = { workspace: this.#workspace, sequence: current_sequence, anchor };
      if (this.#trees === undefined && current_sequence > seq) this.#reconcile(mirror, goal);
      return;
    }
    const details = { hint: "set this replica up anew", data: { reason, current_sequence } };
    if (reason === "compacted") {
      throw new ChronicleError("PRUNED", `the origin has compacted away the events after ${seq}`, details);
    }
    const why = `this replica is ${current_sequence - seq} events behind, which is too far`;
    throw new ChronicleError("LIMIT_EXCEEDED", why, details);
  }

  /**
   * Reconciles in full in the background. The session must go on receiving, because the answers arrive over the same
   * channel.
   */
  #reconcile(mirror: Mirror, goal: ResyncGoal): void {
    const trees = new TreeFetch(this.#channel, { sequence: goal.sequence, since: mirror.head.seq });
    this.#trees = trees;
    if (this.#agreed.has("erasures")) this.#erasures = new ErasureFetch(this.#channel, goal.sequence);
    this.#inBackground(this.#reconcileWith(mirror, goal, { trees, before: this.#storing }));
  }

  async #reconcileWith(
    mirror: Mirror,
    goal: ResyncGoal,
    { trees, before }: { readonly trees: TreeFetch; readonly before: Promise<void> | undefined },
  ): Promise<void> {
    await before;
    if (this.#isEnded) return;
    const { blobs, sandboxId } = this.#options;
    const asked = this.#erasures;
    const erasures = asked === undefined ? undefined : () => asked.get();
    const note = (left: NotTaken): void => this.#note(left);
    await new TreeResync({ mirror, blobs, fetch: trees, erasures, contents: this.#contents, note }, goal).run();
    this.#incoming = new IncomingEvents(mirror.head);
    this.#trees = undefined;
    this.#erasures = undefined;
    await this.#witness.grown();
    const { seq: since_sequence } = mirror.head;
    this.#held.reach(since_sequence);
    await this.#channel.send({ type: "CatchupRequest", sandbox_id: sandboxId, since_sequence });
    await this.#channel.send({ type: "Ack", up_to_sequence: since_sequence });
  }

  #heartbeatOf(everyMs: number): HeartbeatTimer {
    return new HeartbeatTimer(this.#options.timers ?? NODE_TIMERS, everyMs, {
      arrived: () => this.#channel.arrived,
      beat: () => {
        if (this.#isWelcome) void this.#beat().catch((error: unknown) => this.#channel.close(asFatal(error)));
      },
      gone: (ms) => this.#channel.close(silent("the origin", ms)),
    });
  }

  async #beat(): Promise<void> {
    const { sandboxId: sandbox_id, upstream } = this.#options;
    const up_to_sequence = upstream.head.seq;
    const { localSeq: local_seq, pending } = this.#writeBack ?? NOTHING_WRITTEN;
    await this.#channel.send({ type: "SandboxHeartbeat", sandbox_id, up_to_sequence, local_seq, pending });
    this.#writeBack?.beat();
    this.#fetch.beat();
    this.#blocks.beat();
    this.#trees?.beat();
    this.#erasures?.beat();
    this.#barriers.beat();
  }
}

function forked(settled: number): ChronicleError {
  return new ChronicleError(
    "ROLLBACK_DETECTED",
    `the origin has recorded changes of this replica, up to its event ${settled}, that are not in its history: it was put back to an earlier state, or is a copy of the one that wrote them`,
    { data: { settled } },
  );
}

/**
 * Splits the events so that each compaction begins a part. Each part is stored before the next one, because `makeBase`
 * needs the state after all events before a compaction.
 */
function untilCompactions<Arrived extends { readonly event: Pick<LogEvent, "op"> }>(
  all: readonly Arrived[],
): readonly (readonly Arrived[])[] {
  const parts: Arrived[][] = [];
  for (const one of all) {
    const last = parts.at(-1);
    if (last === undefined || one.event.op === "compact") parts.push([one]);
    else last.push(one);
  }
  return parts;
}

/**
 * Stores contents that arrive ahead of their events, one at a time. The origin sends a content ahead while it makes the
 * content and its event durable. A content that is ignored here is taken with its event.
 */
class ContentsAhead {
  readonly #contents: EventContents;
  readonly #onMismatch: (error: ChronicleError) => void;
  #storing: Promise<void> | undefined;

  /** `onMismatch` is called for a content that does not match its hash, and must not throw. */
  constructor(contents: EventContents, onMismatch: (error: ChronicleError) => void) {
    this.#contents = contents;
    this.#onMismatch = onMismatch;
  }

  /** Ignores the content if another one is being stored. */
  take(message: MessageOf<"ContentAhead">): void {
    const { content_hash: hash, content: bytes } = message;
    this.#storing ??= this.#contents
      .takeAhead(pathFromFields(message), { hash, bytes })
      .catch((error: unknown) => {
        const failure = asFatal(error);
        // Ignore a disk error, because the error will occur again when the event is stored, and is reported then.
        if (failure.code === "INTEGRITY_VIOLATION") this.#onMismatch(failure);
      })
      .finally(() => (this.#storing = undefined));
  }

  async rest(): Promise<void> {
    await this.#storing;
  }
}
