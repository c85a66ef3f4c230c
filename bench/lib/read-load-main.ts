/** The process of `readLoad`. Its argument is the plan as JSON. It prints the result as JSON. */
import autocannon from "autocannon";
import type { ReadLoad, ReadPlan } from "./read-load.ts";

const { url, token, connections, seconds, expect } = JSON.parse(process.argv[2] ?? "") as ReadPlan;
const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
const found = await autocannon({ url, connections, duration: seconds, expectBody: expect, headers });
const { non2xx, errors, mismatches, requests, latency } = found;
if (non2xx + errors + mismatches > 0) {
  throw new Error(`${url}: ${non2xx} refused, ${errors} without an answer, ${mismatches} with another content`);
}
const load: ReadLoad = { perSecond: requests.average, p50: latency.p50, p99: latency.p99 };
process.stdout.write(JSON.stringify(load));
