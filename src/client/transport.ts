/** A request as it is sent: everything is encoded already. */
export interface WireRequest {
  readonly method: string;
  /** Path and query: `/v1/workspaces/…?…`. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  /** Aborts the request, also while its answer is being read. */
  readonly signal?: AbortSignal | undefined;
}

/** A reply. Its body must be either read or discarded. */
export interface WireReply {
  readonly status: number;
  /** Returns a header, by its name in lower case. */
  header(name: string): string | undefined;
  /** The body in pieces, as they arrive. Throws `UNAVAILABLE` when it is cut off. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Discards the rest of the body. */
  discard(): Promise<void>;
}

/** Sends requests to a server. */
export interface Transport {
  /** Sends a request. Throws `UNAVAILABLE` when no server answers, and when `signal` aborts it. */
  send(request: WireRequest): Promise<WireReply>;
  /** Closes idle connections. */
  close(): Promise<void>;
}

type Content = Uint8Array | AsyncIterable<Uint8Array>;

/** True if the content is bytes in memory, also those of another realm, such as a frame's or a test environment's. */
export function isBytes(content: Content | undefined): content is Uint8Array {
  return ArrayBuffer.isView(content);
}
