import { spawn } from "node:child_process";
import { createRequire } from "node:module";

/** Reads of one URL by many connections at once, each asking again as soon as it was answered. */
export interface ReadPlan {
  readonly url: string;
  readonly token?: string;
  readonly connections: number;
  readonly seconds: number;
  /** Every answer must have this as its body. */
  readonly expect: string;
}

export interface ReadLoad {
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  /** Milliseconds. */
  readonly p99: number;
}

const AUTOCANNON = createRequire(import.meta.url).resolve("autocannon/autocannon.js");

/** Runs autocannon in a process of its own. Rejects unless every answer was 200 with the expected body. */
export async function readLoad({ url, token, connections, seconds, expect }: ReadPlan): Promise<ReadLoad> {
  const header = token === undefined ? [] : ["-H", `authorization=Bearer ${token}`];
  const args = ["-j", "-n", "-c", String(connections), "-d", String(seconds), "-E", expect, ...header, url];
  const child = spawn(process.execPath, [AUTOCANNON, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  for await (const piece of child.stdout) said += String(piece);
  const found = JSON.parse(said) as {
    requests: { average: number };
    latency: { p50: number; p99: number };
    non2xx: number;
    errors: number;
    mismatches: number;
  };
  const { non2xx, errors, mismatches, requests, latency } = found;
  if (non2xx + errors + mismatches > 0) {
    throw new Error(`${url}: ${non2xx} refused, ${errors} without an answer, ${mismatches} with another content`);
  }
  return { perSecond: requests.average, p50: latency.p50, p99: latency.p99 };
}
