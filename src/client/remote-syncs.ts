import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { ConflictShape } from "../api/conflict-shape.ts";
import * as calls from "../api/routes/calls/sync-calls.ts";
import type * as api from "../api/sync-api.ts";
import { Caller } from "./caller.ts";
import type { Wire } from "./wire.ts";

/** The syncs that a server runs. `id` may be a folder of its machine. */
export class RemoteSyncs implements api.SyncApi {
  readonly #wire: Wire;
  readonly #caller: Caller;

  constructor(wire: Wire) {
    this.#wire = wire;
    this.#caller = new Caller(wire);
  }

  start(options: api.SyncStart): Promise<api.SyncShape> {
    return this.#caller.one(calls.startSync, options);
  }

  list(): Promise<api.SyncShape[]> {
    return this.#caller.all(calls.listSyncs, []);
  }

  status(id: string): Promise<api.SyncShape> {
    return this.#caller.one(calls.syncStatus, id);
  }

  stop(id: string): Promise<api.SyncShape> {
    return this.#caller.one(calls.stopSync, id);
  }

  pause(id: string): Promise<api.SyncShape> {
    return this.#caller.one(calls.pauseSync, id);
  }

  resume(id: string, { accept }: { readonly accept?: api.SyncDecision } = {}): Promise<api.SyncShape> {
    return this.#caller.one(calls.resumeSync, id, accept);
  }

  flush(
    id: string,
    { timeoutMs, signal }: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<api.SyncShape> {
    return this.#caller.one(calls.flushSync, id, timeoutMs, signal);
  }

  conflicts(id: string): Promise<ConflictShape[]> {
    return this.#caller.all(calls.syncConflicts, [id]);
  }

  resolve(id: string, path: string, resolution: api.SyncResolution): Promise<api.SyncResolvedShape> {
    return this.#caller.one(calls.resolveSync, id, path, resolution);
  }

  /** Yields events over one connection. Throws `UNAVAILABLE` when it breaks. */
  async *events(id?: string, signal: AbortSignal = this.#caller.ended): AsyncIterable<api.SyncEventShape> {
    const asking = calls.syncEvents.ask(id, signal);
    const messages: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (message) => void messages.push(message) });
    const decoder = new TextDecoder();
    try {
      const { body } = await this.#wire.open({ call: calls.syncEvents, asking });
      for await (const piece of body) {
        parser.feed(decoder.decode(piece, { stream: true }));
        for (const { data } of messages.splice(0)) yield JSON.parse(data) as api.SyncEventShape;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
