/** A request as it goes out: everything is encoded already. */
export interface WireRequest {
  readonly method: string;
  /** Path and query: `/v1/workspaces/…?…`. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  /** Ends it, also while its answer is being read. */
  readonly signal?: AbortSignal | undefined;
}

/** What came back. Its body is read, or discarded: one of the two. */
export interface WireReply {
  readonly status: number;
  /** A header, by its name in lower case. */
  header(name: string): string | undefined;
  /** The body in pieces, as they come. Throws `UNAVAILABLE` when it is cut off. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Gives the rest up. */
  discard(): Promise<void>;
}

/** How requests get to a server. */
export interface Transport {
  /** Throws `UNAVAILABLE` when nobody answers, and when `signal` ends it. */
  send(request: WireRequest): Promise<WireReply>;
  /** Lets idle connections go. */
  close(): Promise<void>;
}
