import { ChronicleError } from "../../core/values/errors.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import type { AnnouncedContent } from "../../core/records/announced-content.ts";
import type { SettledWriteBack } from "../../core/records/write-back.ts";
import { type Channel, type ChannelEnd, asFatal } from "../channel.ts";
import { contentAheadOf } from "../protocol/event-messages.ts";
import { agreedOn, type Capability, refuseUnagreed } from "../protocol/capabilities.ts";
import { PROTOCOL_VERSION } from "../protocol/limits.ts";
import type { Message, MessageOf } from "../protocol/messages.ts";
import { HeartbeatTimer, silent } from "../heartbeat-timer.ts";
import type { Signal } from "../../util/signal.ts";
import { NODE_TIMERS, type Timers } from "../../util/timers.ts";
import { sayBusy } from "./say-busy.ts";
import { Waiters } from "../waiters.ts";
import { answerToWire } from "../protocol/write-back-entries.ts";
import { ContentFetch } from "../contents/content-fetch.ts";
import { BlockServer, type WorkspaceBlocks } from "../contents/block-server.ts";
import { ContentServer, type WorkspaceContents } from "../contents/content-server.ts";
import { EventPush, type NamedContents } from "../contents/event-push.ts";
import type { LogHistory } from "../contents/log-history.ts";
import { TreeServer, type TreeSource } from "./tree-server.ts";
import { type SecretContents, SessionContents } from "../contents/session-contents.ts";
import type { ReplicaCursors } from "./replica-cursors.ts";
import { WriteBackIntake, type WriteBackParts } from "./write-back-intake.ts";
import { parseSignedHead } from "../../core/log/signed-head.ts";
import { optional } from "../../util/optional.ts";

/** The parts from which an origin serves a replica, and the rights of the client that connects as the replica. */
export interface OriginOptions {
  readonly history: LogHistory;
  readonly contents: WorkspaceContents & NamedContents;
  /** Default: replicas request contents one by one. */
  readonly blocks?: WorkspaceBlocks;
  /** Secrets are sent only on request, and only if `mayHaveSecrets` is true. Default: no content is a secret. */
  readonly secrets?: SecretContents;
  /** True if the client may have secrets, because it is a person. Default: false. */
  readonly mayHaveSecrets?: boolean;
  readonly cursors: ReplicaCursors;
  /**
   * Throws `FORBIDDEN` if the client must not act as this replica (`admitReplica`). Default: the client may act as any
   * replica.
   */
  readonly admit?: (replica: string) => void;
  /** Called once the client is admitted as a replica. Must not throw. */
  readonly onReplica?: () => void;
  /** The parts that accept what the replica writes back. Default: nothing is accepted. */
  readonly writeBack?: WriteBackParts;
  /** True if the client may only follow. Replicas with the capability `read-only` learn this from `HelloAck`. */
  readonly readOnly?: boolean;
  readonly timers?: Timers;
  /** The interval of heartbeats, in ms. Default 2,000. */
  readonly heartbeatMs?: number;
  /**
   * The maximum number of events that a replica may lack. A replica that lacks more events must reconcile in full
   * instead (compare its folders with the present state). Default 1,000,000.
   */
  readonly maxBehind?: number;
  /**
   * The maximum number of bytes of lines and inline contents that are sent before the replica acknowledges them.
   * Default 4 MiB.
   */
  readonly windowBytes?: number;
  /** Resolves to a signed head (docs/format.md), which replicas keep as witnesses. */
  readonly signedHead?: () => Promise<string | undefined>;
  /**
   * Serves the present state to replicas that lack events that can no longer be sent. Such a replica reconciles in
   * full. Default: such a replica is only told that it cannot follow.
   */
  readonly trees?: TreeSource;
  /** Emits contents whose events are not durable yet. */
  readonly foreseen?: Signal<AnnouncedContent>;
  /**
   * Returns the time since which the workspace's folder is missing, in epoch milliseconds; `undefined` if the folder
   * exists. Called for each heartbeat.
   */
  readonly folderAway?: () => number | undefined;
  /**
   * Records the changes in the workspace's folder up to now. Default: there is no folder, as for a hosted workspace.
   */
  readonly look?: () => Promise<void>;
}

/** The default interval of heartbeats. A dead connection is noticed after three to four intervals. */
const HEARTBEAT_MS = 2_000;
const MAX_BEHIND = 1_000_000;

/**
 * The origin's side of a session with one replica (docs/protocol.md, "A conversation"). First compares the replica's
 * history with the log. A different history is reported, and ends the session. Otherwise, the session sends every event
 * after the replica's last event, in order, and each content that the replica requests and is allowed to have. Events
 * are read from the log only when the replica has room for them. A slow replica therefore delays no other replica.
 */
export class OriginSession {
  readonly #channel: Channel;
  readonly #options: OriginOptions;
  readonly #given: SessionContents;
  readonly #contents: ContentServer;
  readonly #blocks: BlockServer | undefined;
  readonly #push: EventPush;
  readonly #trees: TreeServer | undefined;
  readonly #fetch: ContentFetch;
  readonly #intake: WriteBackIntake | undefined;
  readonly #reached = new Waiters();
  /** The `sequence` of each barrier request that is not answered yet. */
  readonly #confirming = new Set<number>();
  #heartbeatTimer: HeartbeatTimer | undefined;
  #replica: string | undefined;
  /** The seq of the last head that was sent to the replica. */
  #told = 0;
  #isAnswered = false;
  /** The seq of the last event that the replica claimed to hold in its `Hello`. */
  #claimed = 0;
  #contradicted: ChronicleError | undefined;
  #asked = 0;
  /** Maps the hash for which a pending call of `isThere` asks to the callback of this call. */
  readonly #questions = new Map<Hash, () => void>();
  #agreed: ReadonlySet<Capability> = new Set();

  constructor(channel: Channel, options: OriginOptions) {
    this.#channel = channel;
    this.#options = options;
    const contents = (this.#given = new SessionContents(options));
    this.#contents = new ContentServer(channel, contents, { deniesDamaged: true });
    this.#blocks = options.blocks === undefined ? undefined : new BlockServer(channel, contents);
    this.#push = new EventPush(channel, { ...options, contents, onMore: () => this.#tellHead() });
    this.#trees = options.trees === undefined ? undefined : new TreeServer(channel, options.trees);
    this.#fetch = new ContentFetch(channel);
    const { writeBack } = options;
    if (writeBack !== undefined) this.#intake = new WriteBackIntake(channel, writeBack, this.#fetch, () => this.#known);
  }

  /** The id of the replica; `undefined` until the replica has sent its `Hello`. */
  get replica(): string | undefined {
    return this.#replica;
  }

  /**
   * The error that names the event in which the replica contradicts this log; `undefined` if no contradiction was
   * found.
   */
  get contradicted(): ChronicleError | undefined {
    return this.#contradicted;
  }

  /** The seq of the last event that the replica has acknowledged as durable in this session. */
  get acknowledged(): number {
    return this.#push.acknowledged;
  }

  get workspace(): string {
    return this.#options.history.workspace;
  }

  /**
   * Asks the replica for a content that nobody has. A live replica answers at once with `ContentNotFound`. Resolves to
   * true once the replica has answered, and to false if the session ends first.
   */
  async isThere(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#asked += 1;
    const content_hash = sha256(`is replica ${this.#replica} there? ${this.#asked}`);
    this.#questions.set(content_hash, () => resolve(true));
    void this.#channel.ended.then(() => resolve(false));
    await this.#channel.send({ type: "ContentFetchRequest", content_hash }).catch(() => resolve(false));
    return promise;
  }

  /** Ends the session with an error, for instance because another copy of the replica is connected. */
  refuse(why: ChronicleError): void {
    this.#channel.close(why);
  }

  /**
   * Resolves once the replica holds this event durably (a barrier). Rejects with `UNAVAILABLE` if the connection ends
   * first.
   */
  reaches(sequence: number): Promise<void> {
    return this.#reached.wait(sequence);
  }

  /** Serves the replica until the channel ends. Never rejects, because the channel's end holds the error. */
  async run(): Promise<ChannelEnd> {
    using _listening = this.#options.history.changed.listen(() => this.#push.note());
    using _foreseeing = this.#options.foreseen?.listen((content) => this.#sendAhead(content));
    this.#beginPulse();
    try {
      for await (const message of this.#channel.receive()) await this.#handle(message);
      this.#channel.close();
    } catch (error) {
      this.#channel.close(asFatal(error));
    } finally {
      this.#heartbeatTimer?.[Symbol.dispose]();
      this.#push.stop();
      this.#intake?.end();
      this.#fetch.end();
      this.#reached.end();
    }
    return await this.#channel.ended;
  }

  /**
   * Sends a content ahead of its event, if nothing else is being sent to the replica. The loss of this message does no
   * harm, because the event carries the content anyway.
   */
  #sendAhead(content: AnnouncedContent): void {
    if (!this.#agreed.has("ahead") || !this.#push.isIdle || this.#channel.pendingBytes > 0) return;
    const message = contentAheadOf(content);
    if (message === undefined) return;
    // Ignore errors, because the receiving loop reports the end of the connection.
    this.#given.gives(content.path).then(
      (gives) => (gives ? this.#channel.send(message).catch(() => undefined) : undefined),
      () => undefined,
    );
  }

  #beginPulse(): void {
    const { timers = NODE_TIMERS } = this.#options;
    this.#heartbeatTimer = new HeartbeatTimer(timers, this.#heartbeatMs, {
      arrived: () => this.#channel.arrived,
      beat: () => void this.#beat().catch((error: unknown) => this.#channel.close(asFatal(error))),
      gone: (ms) => this.#channel.close(silent("the replica", ms)),
    });
  }

  get #heartbeatMs(): number {
    return this.#options.heartbeatMs ?? HEARTBEAT_MS;
  }

  async #beat(): Promise<void> {
    if (!this.#isAnswered) return sayBusy(this.#channel);
    this.#push.note();
    this.#fetch.beat();
    this.#intake?.beat();
    await this.#sayHead();
  }

  /**
   * Sends the head if the replica has not received it yet. If the replica has received only a part of a commit, it
   * learns from the head that more events follow, and waits for the rest.
   */
  #tellHead(): void {
    if (this.#options.history.isLastKnown(this.#told)) return;
    this.#sayHead().catch((error: unknown) => this.#channel.close(asFatal(error)));
  }

  async #sayHead(): Promise<void> {
    const head = await this.#options.history.head();
    this.#told = head.seq;
    const away = this.#folderAway();
    await this.#channel.send({
      type: "Heartbeat",
      agent_sequence: head.seq,
      agent_iteration: this.#push.iteration,
      ...optional({ folder_away_since: away }),
    });
  }

  #folderAway(): number | undefined {
    return this.#agreed.has("folder") ? this.#options.folderAway?.() : undefined;
  }

  async #handle(message: Message): Promise<void> {
    if (message.type === "Hello") return this.#hello(message);
    if (this.#replica === undefined) throw new ChronicleError("USAGE", `${message.type} came before Hello`);
    refuseUnagreed(message, this.#agreed);
    switch (message.type) {
      case "Ack":
        return this.#acknowledge(message.up_to_sequence);
      case "SandboxHeartbeat":
        return this.#acknowledge(message.up_to_sequence);
      case "ContentFetchRequest":
        return this.#contents.ask(message);
      case "BlocksRequest":
        return this.#blocks?.ask(message);
      case "ContentFetchResponse":
      case "ContentNotFound":
        return this.#fetched(message);
      case "WriteBack":
        return this.#written(message);
      case "CatchupRequest":
        return this.#catchUp(message);
      case "TreeRequest":
      case "ErasuresRequest":
        return this.#trees?.ask(message);
      case "BarrierRequest":
        return this.#confirm(message.sequence);
      case "HeadWitness":
        return this.#compare(message);
      case "Error":
        return undefined;
      default:
        throw new ChronicleError("USAGE", `a replica does not send ${message.type}, or not at this point`);
    }
  }

  get #offered(): Capability[] {
    const { foreseen, readOnly, mayHaveSecrets } = this.#options;
    return [
      "witness",
      "folder",
      "times",
      ...(this.#trees === undefined ? [] : (["tree", "erasures"] as const)),
      ...(this.#blocks === undefined ? [] : (["blocks"] as const)),
      ...(foreseen === undefined ? [] : (["ahead"] as const)),
      ...(mayHaveSecrets === true ? (["protected"] as const) : []),
      ...(readOnly === true ? (["read-only"] as const) : []),
    ];
  }

  async #hello(message: MessageOf<"Hello">): Promise<void> {
    const { versions, capabilities, workspace, sandbox_id, head, settled_local_seq } = message;
    if (this.#replica !== undefined) return;
    const { history } = this.#options;
    if (!versions.includes(PROTOCOL_VERSION)) {
      throw new ChronicleError(
        "FORMAT_UNSUPPORTED",
        `this origin speaks version ${PROTOCOL_VERSION} of the protocol only`,
      );
    }
    if (workspace !== undefined && workspace !== history.workspace) {
      throw new ChronicleError("NOT_FOUND", "this origin does not serve the workspace that was asked for");
    }
    this.#options.admit?.(sandbox_id);
    if (capabilities.includes("protected")) this.#admitSecrets();
    this.#replica = sandbox_id;
    this.#options.onReplica?.();
    this.#claimed = head.sequence;
    this.#agreed = agreedOn(capabilities, this.#offered);
    if (this.#trees !== undefined) this.#trees.sendsExactTimes = this.#agreed.has("times");
    const own = await history.head();
    const settled = await this.#options.writeBack?.target.settled(sandbox_id);
    await this.#channel.send({
      type: "HelloAck",
      version: PROTOCOL_VERSION,
      capabilities: [...this.#agreed],
      workspace: history.workspace,
      head: { sequence: own.seq, hash: own.hash },
      ...(settled === undefined ? { settled_local_seq } : this.#decidedUpTo(settled)),
      heartbeat_ms: this.#heartbeatMs,
    });
    this.#isAnswered = true;
    // Send the last answer again, because the replica may have lost it in a crash or with its connection.
    if (settled !== undefined && settled.upTo > settled_local_seq) await this.#channel.send(answerToWire(settled.last));
    if (this.#folderAway() !== undefined) await this.#beat();
    if (!(await this.#canFollowFrom(head))) return;
    this.#push.begin({ seq: head.sequence, hash: head.hash });
    this.#acknowledge(head.sequence);
    await this.#sendSignedHead();
  }

  /** Lets this session send secrets. Throws `FORBIDDEN` if the client is not allowed to have secrets. */
  #admitSecrets(): void {
    if (this.#options.mayHaveSecrets !== true) throw onlyForPeople();
    this.#given.admitSecrets();
  }

  /**
   * Returns the fields of `HelloAck` about the decided entries (changes that the replica has written back, and that the
   * origin has accepted or rejected). Begins the intake after these entries. If further entries are decided over
   * another connection of this replica, the intake refuses the entries of this connection.
   */
  #decidedUpTo({ upTo, hash }: SettledWriteBack): Pick<MessageOf<"HelloAck">, "settled_local_seq" | "settled_hash"> {
    this.#intake?.begin(upTo);
    return { settled_local_seq: upTo, ...optional({ settled_hash: hash }) };
  }

  /**
   * Returns true if the events after this head can be sent to the replica. Otherwise, tells the replica that it cannot
   * follow, and returns false. Throws `INTEGRITY_VIOLATION` if the log contradicts the head.
   */
  async #canFollowFrom({ sequence, hash }: MessageOf<"Hello">["head"]): Promise<boolean> {
    const { history, maxBehind = MAX_BEHIND } = this.#options;
    const own = await history.head();
    const known = await history.hashAt(sequence);
    // `hashAt` may be the first to notice that archived lines were dropped, so `firstSeq` is read only after its call.
    if (sequence < history.firstSeq - 1) return this.#resync("compacted", own.seq);
    if (known !== hash) {
      this.#contradicted = contradiction(sequence, own.seq);
      await this.#resync("diverged", own.seq);
      throw this.#contradicted;
    }
    return own.seq - sequence > maxBehind ? this.#resync("too-far", own.seq) : true;
  }

  async #resync(reason: MessageOf<"FullResyncRequired">["reason"], current_sequence: number): Promise<false> {
    this.#push.stop();
    const mayReconcile = this.#agreed.has("tree") && reason !== "diverged";
    const goal = mayReconcile ? await this.#trees?.begin() : undefined;
    if (goal !== undefined) this.#push.offered(goal.sequence);
    const told = goal === undefined ? { current_sequence } : { current_sequence: goal.sequence, anchor: goal.anchor };
    await this.#channel.send({ type: "FullResyncRequired", reason, ...told });
    return false;
  }

  #acknowledge(sequence: number): void {
    if (!this.#push.acknowledge(sequence) || this.#replica === undefined) return;
    this.#options.cursors.advance(this.#replica, sequence);
    this.#reached.reach(sequence);
  }

  /**
   * The seq of the last event that the replica can have seen: the last sent event, or the head in the replica's `Hello`
   * if this is later. A replica that must reconcile can write back before any event is sent to it.
   */
  get #known(): number {
    return Math.max(this.#push.sent, this.#claimed);
  }

  async #written(message: MessageOf<"WriteBack">): Promise<void> {
    const { sandbox_id, entries } = message;
    if (sandbox_id !== this.#replica) throw new ChronicleError("USAGE", "WriteBack names another replica");
    if (this.#intake !== undefined) return this.#intake.take(message);
    const rejected = entries.map(({ local_seq: localSeq }) => ({ localSeq, reason: "read-only" as const }));
    await this.#channel.send(answerToWire({ accepted: [], rejected }));
  }

  #fetched(message: MessageOf<"ContentFetchResponse"> | MessageOf<"ContentNotFound">): void {
    const answered = this.#questions.get(message.content_hash);
    this.#questions.delete(message.content_hash);
    if (answered !== undefined) return answered();
    if (!this.#fetch.hasAsked) throw new ChronicleError("USAGE", `${message.type} came and nothing was asked for`);
    this.#intake?.heard();
    this.#fetch.took(message);
  }

  /**
   * Begins to send the events after `since_sequence`. A replica sends `CatchupRequest` after frames were lost, or once
   * it has reconciled.
   */
  async #catchUp({ sandbox_id, since_sequence }: MessageOf<"CatchupRequest">): Promise<void> {
    if (sandbox_id !== this.#replica) throw new ChronicleError("USAGE", "CatchupRequest names another replica");
    const { history, maxBehind = MAX_BEHIND } = this.#options;
    const own = await history.head();
    if (since_sequence > own.seq) throw contradiction(since_sequence, own.seq);
    // If the replica has reached the offered state, that state ends, so that `#resync` can offer a later state.
    this.#trees?.end(since_sequence);
    const hash = await history.hashAt(since_sequence);
    if (since_sequence < history.firstSeq - 1) {
      await this.#resync("compacted", own.seq);
      return;
    }
    if (own.seq - since_sequence > maxBehind) {
      await this.#resync("too-far", own.seq);
      return;
    }
    if (hash !== undefined) this.#push.begin({ seq: since_sequence, hash });
  }

  /**
   * Answers a barrier request once all changes that were made in the folder before the request are recorded. Runs in
   * the background, because recording can take long. If recording fails, no answer is sent. The replica then asks again
   * at its next heartbeat.
   */
  #confirm(sequence: number): void {
    if (this.#confirming.has(sequence)) return;
    this.#confirming.add(sequence);
    const answered = async (): Promise<void> => {
      const { look, history } = this.#options;
      await look?.();
      const { seq: current_sequence } = await history.head();
      const satisfied = current_sequence >= sequence;
      await this.#channel.send({ type: "BarrierConfirmation", sequence, satisfied, current_sequence });
    };
    void answered()
      .catch(() => undefined)
      .finally(() => this.#confirming.delete(sequence));
  }

  async #compare({ sequence, head_hash, workspace }: MessageOf<"HeadWitness">): Promise<void> {
    const { history } = this.#options;
    if (workspace !== history.workspace) throw new ChronicleError("USAGE", "HeadWitness is about another workspace");
    const { seq } = await history.head();
    const own = await history.hashAt(sequence);
    const isUnknown = own === undefined && sequence < history.firstSeq;
    if (!isUnknown && own !== head_hash) throw contradiction(sequence, seq);
  }

  async #sendSignedHead(): Promise<void> {
    if (!this.#agreed.has("witness")) return;
    const note = await this.#options.signedHead?.();
    if (note === undefined) return;
    const { workspace, seq: sequence, hash: head_hash, root } = parseSignedHead(note).content;
    await this.#channel.send({ type: "HeadWitness", workspace, sequence, head_hash, root, signature: note });
  }
}

/**
 * Returns the error for a replica that holds an event that the log contradicts. All lines of a replica came from its
 * origin, so either the replica lies, or the origin has lost lines.
 */
function contradiction(sequence: number, last: number): ChronicleError {
  const what =
    sequence > last
      ? `event ${sequence}, and this origin ends at event ${last}`
      : `another event ${sequence} than this origin`;
  return new ChronicleError(
    "INTEGRITY_VIOLATION",
    `the replica holds ${what}: if that is true, the origin was put back to an earlier state`,
    {
      hint: "restore the origin's history, or run `chronicle sync rejoin` at the replica: it proposes what was lost",
      data: { sequence, last },
    },
  );
}

function onlyForPeople(): ChronicleError {
  return new ChronicleError("FORBIDDEN", "files that are secrets by their names go to people only", {
    hint: "follow without --with-protected, or with a token of the role operator",
  });
}
