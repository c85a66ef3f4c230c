import { randomUUID } from "node:crypto";
import { ChronicleError, codedError } from "../../core/values/errors.ts";
import { type Channel, type ChannelEnd, asFatal } from "../channel.ts";
import type { Message, MessageOf } from "../protocol/messages.ts";
import { type Timers, NODE_TIMERS } from "../../util/timers.ts";
import type {
  ReplicaConnection,
  ReplicaAcceptor,
  ReplicaLoad,
  ReplicaPlace,
  ReplicaAdmission,
} from "../../api/replication-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { FramedChannel } from "../channels/framed-channel.ts";
import { SocketWire } from "../channels/socket-wire.ts";
import { WebSocketWire } from "../channels/web-socket-wire.ts";
import { greatestOf } from "../../util/long-lists.ts";
import { RecentMap } from "../../util/recent-map.ts";
import { type OriginOptions, OriginSession } from "./origin-session.ts";
import { keepSayingBusy } from "./say-busy.ts";

/** The maximum time, in ms, within which a client must send `Hello`. */
const HELLO_MS = 10_000;

/** The interval, in ms, at which a replica is told that its `Hello` is being processed. */
const BUSY_MS = 1_500;

const MOST_FORKED = 1_000;

/** The parts for serving one replica. These parts are disposed of when the session ends. */
interface ServedOrigin extends Disposable {
  readonly options: OriginOptions;
}

interface OriginAcceptorOptions {
  readonly originOf: (workspace: WorkspaceApi, admission: ReplicaAdmission) => Promise<ServedOrigin>;
  /** Reports errors to the administrator of the origin. */
  readonly onError: (error: unknown) => void;
}

export class OriginAcceptor implements ReplicaAcceptor {
  readonly #options: OriginAcceptorOptions;
  readonly #open = new Map<Channel, Promise<void>>();
  readonly #sessions = new Map<OriginSession, OriginOptions>();
  /**
   * Maps the ids of a workspace and of a forked replica to the last reported error of this replica. A forked replica is
   * a replica that was put back to an earlier state, or was copied.
   */
  readonly #forked = new RecentMap<string, string>(MOST_FORKED);
  /** The ids of the workspaces that, according to at least one replica, were put back to an earlier state. */
  readonly #contradicted = new Set<string>();
  #isClosed = false;

  constructor(options: OriginAcceptorOptions) {
    this.#options = options;
  }

  accept(connection: ReplicaConnection, admission: ReplicaAdmission): Promise<void> {
    const channel = new FramedChannel(wireOf(connection), { onFailure: (error) => this.#noteFailure(error) });
    if (this.#isClosed) {
      channel.close(leaving());
      return channel.ended.then(() => undefined);
    }
    const done = this.#lead(channel, admission).finally(() => this.#open.delete(channel));
    this.#open.set(channel, done);
    return done;
  }

  async load(): Promise<ReplicaLoad> {
    const lags = [...this.#sessions].map(async ([session, { history }]) => {
      const { seq } = await history.head();
      return Math.max(0, seq - session.acknowledged);
    });
    return { replicas: this.#sessions.size, lag: Math.max(0, greatestOf(await Promise.all(lags))) };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const channel of this.#open.keys()) channel.close(leaving());
    await Promise.all(this.#open.values());
  }

  /**
   * Closes the new connection (`session`) if the replica still answers on an earlier connection, because there are then
   * two copies of the replica. An earlier connection that does not answer may be dead, and is ignored.
   */
  #refuseDouble(session: OriginSession): void {
    const { replica, workspace } = session;
    for (const other of this.#sessions.keys()) {
      if (other === session || other.replica !== replica || other.workspace !== workspace) continue;
      void other.isThere().then((isThere) => {
        if (isThere) session.refuse(doubled());
      });
    }
  }

  /**
   * Reports a failure to the administrator, and returns the id of the report. The replica gets only the kind of the
   * failure and this id.
   */
  #noteFailure(failure: ChronicleError): string {
    const id = randomUUID();
    const { cause = failure } = failure;
    const said = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    const known = codedError(cause);
    const { code, data } = known instanceof ChronicleError ? known : failure;
    this.#options.onError(new ChronicleError(code, `${id} ${said}`, { data, cause }));
    return id;
  }

  /**
   * Reports the error of a forked replica, unless the last report about this replica had the same error. The replica
   * connects again and again, and would otherwise cause a report each time.
   */
  #noteForked(session: OriginSession, place: ReplicaPlace, cause: ChronicleError): void {
    const key = `${place.workspace.id} ${session.replica}`;
    if (this.#forked.get(key) === cause.message) return;
    this.#forked.put(key, cause.message);
    this.#options.onError(forked(session, place, cause));
  }

  /**
   * Reports that a replica contradicts the log of its workspace. There is only one report for each workspace, because a
   * replica that searches for the last common event contradicts the log many times, and several replicas may search.
   */
  #noteContradicted(session: OriginSession, place: ReplicaPlace): void {
    const { contradicted } = session;
    const { id } = place.workspace;
    if (contradicted === undefined || this.#contradicted.has(id)) return;
    this.#contradicted.add(id);
    this.#options.onError(putBack(session, place, contradicted));
  }

  async #lead(channel: Channel, admission: ReplicaAdmission): Promise<void> {
    let place: ReplicaPlace | undefined;
    using opening = new DisposableStack();
    const meant = async (asked: string | undefined): Promise<string> => {
      opening.use(keepSayingBusy(channel, NODE_TIMERS, BUSY_MS));
      place = await admission.place(asked);
      return place.workspace.id;
    };
    try {
      const begun = await BegunChannel.begin(channel, {
        meant: ({ workspace }) => meant(workspace),
        timers: NODE_TIMERS,
        withinMs: HELLO_MS,
      });
      if (place !== undefined) await this.#serve(begun, place, { admission, opening });
    } catch (error) {
      channel.close(asFatal(error));
    } finally {
      place?.[Symbol.dispose]();
    }
    await channel.ended;
  }

  async #serve(
    channel: Channel,
    place: ReplicaPlace,
    { admission, opening }: { readonly admission: ReplicaAdmission; readonly opening: Disposable },
  ): Promise<void> {
    const leave = (): void => channel.close(new ChronicleError("UNAVAILABLE", "this workspace is being closed"));
    if (place.gone.aborted) return leave();
    place.gone.addEventListener("abort", leave);
    try {
      using origin = await this.#options.originOf(place.workspace, admission);
      opening[Symbol.dispose]();
      const session: OriginSession = new OriginSession(channel, {
        ...origin.options,
        onReplica: () => this.#refuseDouble(session),
      });
      this.#sessions.set(session, origin.options);
      const { by, error } = await session.run().finally(() => this.#sessions.delete(session));
      if (by === "us" && error?.data["silent_ms"] !== undefined) this.#options.onError(lost(session, place, error));
      if (error?.code === "ROLLBACK_DETECTED") this.#noteForked(session, place, error);
      this.#noteContradicted(session, place);
    } finally {
      place.gone.removeEventListener("abort", leave);
    }
  }
}

/** Returns the error that tells the administrator that the origin was put back to an earlier state. */
function putBack({ replica }: OriginSession, { workspace }: ReplicaPlace, cause: ChronicleError): ChronicleError {
  const { message, hint = "" } = cause;
  return new ChronicleError("ROLLBACK_DETECTED", `workspace ${workspace.id}, replica ${replica}: ${message}`, {
    hint,
    data: { ...cause.data, replica, workspace: workspace.id },
    cause,
  });
}

function lost({ replica = "" }: OriginSession, { workspace }: ReplicaPlace, cause: ChronicleError): ChronicleError {
  const message = `${cause.message}: the connection of replica ${replica} of workspace ${workspace.id} was ended`;
  return new ChronicleError("UNAVAILABLE", message, { data: { replica, workspace: workspace.id } });
}

function doubled(): ChronicleError {
  return new ChronicleError("ROLLBACK_DETECTED", "another copy of this replica is connected at the same time", {
    hint: "run `chronicle sync adopt-as-new` on the machine of one of the two copies: that copy then continues as a new replica",
  });
}

/** Returns the error that reports a forked replica. The replica waits for a decision of its own user. */
function forked({ replica = "" }: OriginSession, { workspace }: ReplicaPlace, cause: ChronicleError): ChronicleError {
  return new ChronicleError("ROLLBACK_DETECTED", `replica ${replica} of workspace ${workspace.id}: ${cause.message}`, {
    hint: "no change of this replica was accepted; to continue, run `chronicle sync adopt-as-new` on the replica's machine",
    data: { replica, workspace: workspace.id },
    cause,
  });
}

function wireOf(connection: ReplicaConnection): SocketWire | WebSocketWire {
  return connection.kind === "socket" ? new SocketWire(connection.socket) : new WebSocketWire(connection.socket);
}

function leaving(): ChronicleError {
  return new ChronicleError("UNAVAILABLE", "this server is being ended", {
    hint: "connect again: another server may take its place",
  });
}

/**
 * A channel whose `Hello` was read in advance, because `Hello` names the workspace to open. `receive` first yields this
 * `Hello`, then all later messages.
 */
class BegunChannel implements Channel {
  readonly #channel: Channel;
  readonly #first: Message;
  readonly #rest: AsyncIterator<Message>;

  private constructor(channel: Channel, first: Message, rest: AsyncIterator<Message>) {
    this.#channel = channel;
    this.#first = first;
    this.#rest = rest;
  }

  /**
   * Reads `Hello`, and sets the workspace in it to the id that `meant` returns. Closes the channel if no `Hello`
   * arrives within `withinMs`. Throws `USAGE` if another message arrives first, and `UNAVAILABLE` if the connection
   * ends before `Hello`. Rethrows the errors of `meant` and of the channel.
   */
  static async begin(channel: Channel, { meant, timers, withinMs }: BeginOptions): Promise<BegunChannel> {
    const rest = channel.receive()[Symbol.asyncIterator]();
    const hello = await firstOf(channel, rest, { timers, withinMs });
    return new BegunChannel(channel, { ...hello, workspace: await meant(hello) }, rest);
  }

  send(message: Message): Promise<void> {
    return this.#channel.send(message);
  }

  async *receive(): AsyncGenerator<Message, void> {
    const first = this.#first;
    yield first;
    try {
      for (let next = await this.#rest.next(); next.done !== true; next = await this.#rest.next()) yield next.value;
    } finally {
      await this.#rest.return?.();
    }
  }

  get arrived(): number {
    return this.#channel.arrived;
  }

  get pendingBytes(): number {
    return this.#channel.pendingBytes;
  }

  get ended(): Promise<ChannelEnd> {
    return this.#channel.ended;
  }

  close(reason?: ChronicleError): void {
    this.#channel.close(reason);
  }
}

interface HelloDeadline {
  readonly timers: Timers;
  readonly withinMs: number;
}

interface BeginOptions extends HelloDeadline {
  /** Resolves to the id of the workspace that the replica asks for. */
  readonly meant: (hello: MessageOf<"Hello">) => Promise<string>;
}

async function firstOf(
  channel: Channel,
  rest: AsyncIterator<Message>,
  { timers, withinMs }: HelloDeadline,
): Promise<MessageOf<"Hello">> {
  using _late = timers.after(withinMs, () => channel.close(new ChronicleError("UNAVAILABLE", "no Hello came")));
  const first = await rest.next();
  if (first.done === true) throw new ChronicleError("UNAVAILABLE", "the connection ended before Hello");
  if (first.value.type === "Hello") return first.value;
  throw new ChronicleError("USAGE", `${first.value.type} came before Hello`);
}
