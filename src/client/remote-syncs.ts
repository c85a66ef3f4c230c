import * as calls from "../api/routes/calls/sync-calls.ts";
import type { SyncApi, SyncEventShape } from "../api/sync-api.ts";
import { Requests, requesting } from "./requests.ts";
import { sentEvents } from "./remote-events.ts";
import type { Wire } from "./wire.ts";

const REQUESTS = {
  start: calls.startSync,
  list: calls.listSyncs,
  status: calls.syncStatus,
  stop: calls.stopSync,
  pause: calls.pauseSync,
  resume: calls.resumeSync,
  flush: calls.flushSync,
  conflicts: calls.syncConflicts,
  resolve: calls.resolveSync,
};

/** The syncs that a server runs. `id` may be a folder of its machine. */
export class RemoteSyncs extends requesting(REQUESTS) implements SyncApi {
  readonly #requests: Requests;

  constructor(wire: Wire) {
    const requests = new Requests(wire);
    super(requests);
    this.#requests = requests;
  }

  /** Yields events over one connection. Throws `UNAVAILABLE` when it breaks. */
  async *events(id?: string, signal: AbortSignal = this.#requests.ended): AsyncIterable<SyncEventShape> {
    try {
      const { body } = await this.#requests.wire.open({
        call: calls.syncEvents,
        asking: calls.syncEvents.ask(id, signal),
      });
      for await (const { data } of sentEvents(body)) yield JSON.parse(data) as SyncEventShape;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
