import type { OpenSink, SinkResult } from "./pack-sink.ts";
import type { PackWriter } from "./pack-writer.ts";

interface Waiting {
  readonly sink: OpenSink;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Commits sinks of one writer. Those that are asked for in one turn of the event loop share one sync. */
export class CommitGroup {
  readonly #publish: (result: SinkResult) => void;
  #waiting: Waiting[] = [];

  /** `publish`: makes a durable result visible. */
  constructor(publish: (result: SinkResult) => void) {
    this.#publish = publish;
  }

  /** Resolves when the sink is durable and published. */
  commit(sink: OpenSink, writer: PackWriter): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sink, resolve, reject });
      // Once everybody else has had a turn: the workspaces of a store that write at the same time share the sync.
      if (this.#waiting.length === 1) setImmediate(() => this.#commitAll(writer));
    });
  }

  #commitAll(writer: PackWriter): void {
    const group = this.#waiting;
    this.#waiting = [];
    const flushed = group.filter((each) => attempt(each, () => each.sink.flush()));
    const synced = flushed.filter((each) => attempt(each, () => writer.sync()));
    for (const each of synced) {
      if (attempt(each, () => this.#publish(each.sink.settle()))) each.resolve();
    }
  }
}

function attempt(waiting: Waiting, action: () => void): boolean {
  try {
    action();
    return true;
  } catch (error) {
    waiting.reject(error);
    return false;
  }
}
