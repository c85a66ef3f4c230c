import { afterAll, beforeAll, expect, it } from "vitest";
import { GatewayClient } from "./gateway-client.ts";
import { Serving } from "./serving.ts";

/** What a server counts, and who may see it. */

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start();
});
afterAll(() => serving[Symbol.asyncDispose]());

async function metrics(): Promise<Map<string, number>> {
  const { status, text, headers } = await serving.ask("/metrics");
  expect([status, headers["content-type"]]).toEqual([200, expect.stringContaining("text/plain")]);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}

it("the metrics count requests by route and status, and much else, and name no workspace and no path", async () => {
  const id = await serving.create("secret-name");
  await serving.put(id, "secret.txt", "secret content");
  for (let i = 0; i < 3; i += 1) await serving.read(id, "secret.txt");
  await serving.read(id, "not-there.txt");
  await serving.ask("/made/up?by=somebody");
  await using gateway = await GatewayClient.connect(serving);
  await gateway.ask({ type: "subscribe_events", session_id: id });
  const seen = await metrics();
  const files = 'method="GET",route="/v1/workspaces/:id/files/*"';
  expect(seen.get(`chronicle_requests_total{${files},status="200"}`)).toBe(3);
  expect(seen.get(`chronicle_requests_total{${files},status="404"}`)).toBe(1);
  expect(seen.get('chronicle_requests_total{method="GET",route="none",status="404"}')).toBe(1);
  expect(seen.get(`chronicle_request_duration_seconds_count{${files}}`)).toBe(4);
  expect(seen.get("chronicle_open_workspaces")).toBe(1);
  expect(seen.get("chronicle_open_requests")).toBe(1);
  expect(seen.get("chronicle_gateway_connections")).toBe(1);
  expect(seen.get("chronicle_gateway_subscriptions")).toBe(1);
  expect(seen.get("chronicle_commits_total")).toBe(2);
  expect(seen.get("chronicle_events_total")).toBeGreaterThan(2);
  expect(seen.get("chronicle_stored_bytes")).toBeGreaterThan(100);
  expect(seen.get("chronicle_errors_total")).toBe(0);
  expect(seen.has("process_resident_memory_bytes")).toBe(true);
  expect([...seen.keys()].filter((key) => /secret|made|somebody/.test(key))).toEqual([]);
});

it("the metrics are only for operators of the whole store", async () => {
  const ask = async (token: string | null): Promise<number> => (await serving.ask("/metrics", { token })).status;
  expect(await ask(null)).toBe(401);
  expect(await ask(serving.token("reader"))).toBe(403);
  expect(await ask(serving.token("agent"))).toBe(403);
  expect(await ask(serving.token("operator", ["secret-name"]))).toBe(403);
  expect(await ask(serving.token("operator"))).toBe(200);
  expect((await serving.ask("/metrics", { bySocket: true })).status).toBe(200);
});

it("the metrics are for everybody if the server is started so", async () => {
  await using open = await Serving.start({ metricsPublic: true });
  expect((await open.ask("/metrics", { token: null })).status).toBe(200);
  expect((await open.ask("/v1/workspaces", { token: null })).status).toBe(401);
});
