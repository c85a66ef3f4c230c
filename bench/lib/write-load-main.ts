/** The process of `writeLoad`. Its argument is the plan as JSON. It prints the result as JSON. */
import { createHash, randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import { percentile } from "./result.ts";
import type { WriteLoad, WritePlan, WrittenFile } from "./write-load.ts";

const plan = JSON.parse(process.argv[2] ?? "") as WritePlan;
const { hostname, port } = new URL(plan.url);
const agent = new Agent({ keepAlive: true, maxSockets: plan.folders.length });
const written: Record<string, WrittenFile> = {};
const samples: number[] = [];
const padding = randomBytes(plan.bytes).toString("base64url").slice(0, plan.bytes);
const started = performance.now();
const end = started + plan.seconds * 1000;
let begun = 0;

/** Returns a content of `plan.bytes` bytes that no other write has. */
function content(client: number, n: number): Buffer {
  return Buffer.from(`client ${client}, write ${n} at ${performance.now()}\n${padding}`.slice(0, plan.bytes));
}

/** Writes as one client, until the time is over, `plan.most` writes have begun, or the server is gone. */
async function write(folder: string, client: number): Promise<void> {
  for (let n = 0; performance.now() < end && begun < (plan.most ?? Infinity); n++) {
    begun += 1;
    const target = `${folder}/client-${client}-file-${n % plan.files}.txt`;
    const bytes = content(client, n);
    const hash = createHash("sha256").update(bytes).digest("hex");
    const before = written[target]?.acknowledged;
    written[target] = { ...(before === undefined ? {} : { acknowledged: before }), underWay: hash };
    const from = performance.now();
    const answer = await put(target, bytes);
    if (answer === "gone") return;
    samples.push(performance.now() - from);
    if (answer.file.hash !== hash) throw new Error(`${target}: another hash was acknowledged`);
    written[target] = { acknowledged: hash };
  }
}

type Answer = { readonly file: { readonly hash: string } };

/** Sends one write. Resolves to `gone` if the connection fails. Rejects if the status is neither 200 nor 201. */
function put(path: string, bytes: Buffer): Promise<Answer | "gone"> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${plan.token}`, "content-length": bytes.length };
    const asked = request({ agent, hostname, port, path, method: "PUT", headers }, (reply) => {
      const pieces: Buffer[] = [];
      reply.on("data", (piece: Buffer) => pieces.push(piece));
      reply.on("error", () => resolve("gone"));
      reply.on("end", () => {
        const text = Buffer.concat(pieces).toString();
        if (reply.statusCode === 200 || reply.statusCode === 201) resolve(JSON.parse(text) as Answer);
        else reject(new Error(`${path} was answered with ${reply.statusCode}: ${text}`));
      });
    });
    asked.on("error", () => resolve("gone"));
    asked.end(bytes);
  });
}

await Promise.all(plan.folders.map(write));
const seconds = (performance.now() - started) / 1000;
agent.destroy();
const result: WriteLoad = {
  acknowledged: samples.length,
  perSecond: samples.length / seconds,
  p50: percentile(samples, 0.5),
  p99: percentile(samples, 0.99),
  written,
};
process.stdout.write(JSON.stringify(result));
