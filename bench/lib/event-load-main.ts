/** The process of `eventLoad`. Its argument is the plan as JSON. It prints the result as JSON. */
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { EventLoad, EventPlan } from "./event-load.ts";

const PATIENCE_MS = 10_000;

const plan = JSON.parse(process.argv[2] ?? "") as EventPlan;
const { hostname, port } = new URL(plan.url);
const base = `/v1/workspaces/${plan.workspace}`;
const authorization = `Bearer ${plan.token}`;

/** A subscription to the events. Throws if an event is missing, repeated or out of order. */
class Subscriber {
  /** Seq → time at which the event arrived. */
  readonly arrived = new Map<number, number>();
  /** Resolves when the stream has begun. */
  readonly ready = Promise.withResolvers<void>();
  #last: number | undefined;
  #rest = "";

  constructor() {
    const headers = { authorization, accept: "text/event-stream" };
    const asked = request({ hostname, port, path: `${base}/events`, headers, agent: false }, (reply) => {
      if (reply.statusCode !== 200) this.ready.reject(new Error(`events were answered with ${reply.statusCode}`));
      reply.setEncoding("utf8");
      reply.on("data", (text: string) => this.#take(text));
    });
    asked.on("error", (error) => this.ready.reject(error));
    asked.end();
  }

  #take(text: string): void {
    const now = performance.now();
    const blocks = (this.#rest + text).split("\n\n");
    this.#rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const id = /^id: (\d+)$/m.exec(block)?.[1];
      if (id === undefined) continue;
      const seq = Number(id);
      if (this.#last !== undefined && seq !== this.#last + 1) throw new Error(`event ${seq} came after ${this.#last}`);
      this.#last = seq;
      if (/^data: /m.test(block)) this.arrived.set(seq, now);
      else this.ready.resolve();
    }
  }
}

interface Written {
  /** The seq of the file's event. */
  readonly seq: number;
  readonly sent: number;
  readonly answered: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function write(n: number): Promise<Written> {
  const sent = performance.now();
  const bytes = Buffer.from(`write ${n} at ${performance.timeOrigin + sent}\n`);
  return new Promise((resolve, reject) => {
    const headers = { authorization, "content-length": bytes.length };
    const path = `${base}/files/events/file-${n % 50}.txt`;
    const asked = request({ hostname, port, path, method: "PUT", headers, agent }, (reply) => {
      let text = "";
      reply.setEncoding("utf8");
      reply.on("data", (piece: string) => (text += piece));
      reply.on("end", () => {
        if (reply.statusCode !== 200 && reply.statusCode !== 201) return reject(new Error(text));
        const { file } = JSON.parse(text) as { file: { seq: number } };
        resolve({ seq: file.seq, sent, answered: performance.now() });
      });
    });
    asked.on("error", reject);
    asked.end(bytes);
  });
}

const subscribers = Array.from({ length: plan.subscribers }, () => new Subscriber());
await Promise.all(subscribers.map(({ ready }) => ready.promise));
const written: Written[] = [];
for (let n = 0; n < plan.writes; n++) {
  const began = performance.now();
  written.push(await write(n));
  await sleep(Math.max(0, 1000 / plan.perSecond - (performance.now() - began)));
}
const until = performance.now() + PATIENCE_MS;
const isThere = ({ seq }: Written): boolean => subscribers.every(({ arrived }) => arrived.has(seq));
while (!written.every(isThere)) {
  if (performance.now() > until) throw new Error(`${written.filter((one) => !isThere(one)).length} events are missing`);
  await sleep(20);
}
const each = (of: (at: number, one: Written) => number): number[] =>
  written.flatMap((one) => subscribers.map(({ arrived }) => of(arrived.get(one.seq) ?? Number.NaN, one)));
const result: EventLoad = {
  fromRequest: each((at, { sent }) => at - sent),
  fromAnswer: each((at, { answered }) => Math.max(0, at - answered)),
  writing: written.map(({ sent, answered }) => answered - sent),
};
process.stdout.write(JSON.stringify(result), () => process.exit(0));
