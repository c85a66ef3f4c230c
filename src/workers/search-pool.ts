import { tooManyLines } from "../core/text/search-budget.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { SearchRequest, SizedContent } from "../engine/log/context.ts";
import { poolSize } from "./ingest-pool.ts";
import type { SearchBatch, SearchOutcome } from "./search-job.ts";
import type { SearchReply, SearchWorkerData } from "./search-worker.ts";
import { WorkerPool } from "./worker-pool.ts";

/** The maximum number of batches per thread whose outcomes have not been yielded yet. */
const AHEAD = 4;

/** Contents to search, and a function that makes the message with these contents when a thread takes the batch. */
export interface Batch {
  readonly contents: readonly SizedContent[];
  readonly make: () => SearchBatch["contents"];
}

export type Searched = readonly [SizedContent, SearchOutcome];

/** The outcomes of a batch, or the error that prevented them. */
interface Settled {
  readonly found?: readonly Searched[];
  readonly error?: unknown;
}

/** Worker threads that search batches. Disposing of the pool ends the threads. */
export class SearchPool implements AsyncDisposable {
  readonly #pool: WorkerPool<SearchBatch, SearchReply>;
  readonly #request: Pick<SearchRequest, "pattern" | "mostLines" | "budget">;
  readonly #most: number;
  readonly #underWay: Promise<Settled>[] = [];

  constructor(home: string, request: Pick<SearchRequest, "pattern" | "mostLines" | "budget">) {
    const data = Array.from({ length: poolSize() }, (): SearchWorkerData => ({ home }));
    this.#pool = new WorkerPool({ name: "search-worker", data, failureOf });
    this.#request = request;
    this.#most = data.length * AHEAD;
  }

  /**
   * Searches the batches as they arrive. Yields the outcomes in the order of the batches. Takes no further batch once
   * the budget is over. Throws `IO` if a thread fails.
   */
  async *search(batches: Iterable<Batch> | AsyncIterable<Batch>): AsyncIterable<Searched> {
    for await (const batch of batches) {
      if (this.#request.budget.isOver) break;
      this.#underWay.push(this.#give(batch));
      if (this.#underWay.length >= this.#most) yield* await this.#take();
    }
    while (this.#underWay.length > 0) yield* await this.#take();
  }

  async #give({ contents, make }: Batch): Promise<Settled> {
    const { pattern, mostLines, budget } = this.#request;
    try {
      const reply = await this.#pool.give(() => ({
        message: { pattern, mostLines, contents: make(), budget: budget.memory },
      }));
      const outcomes = reply.kind === "found" ? reply.outcomes : [];
      return { found: contents.map((content, i) => [content, outcomes[i] ?? "unread"] as const) };
    } catch (error) {
      // Return the error, so that `#take` throws it. A rejected promise that nobody awaits yet would end the process.
      return { error };
    }
  }

  async #take(): Promise<readonly Searched[]> {
    const { found = [], error } = (await this.#underWay.shift()) ?? {};
    if (error !== undefined) throw error;
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }
}

function failureOf(reply: SearchReply): ChronicleError | undefined {
  if (reply.kind === "too-many") return tooManyLines();
  return reply.kind === "failed"
    ? new ChronicleError("IO", `a worker thread could not search: ${reply.message}`)
    : undefined;
}
