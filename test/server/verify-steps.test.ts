import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Progress, VerifyStepShape } from "../../src/api/workspace-api.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { OPERATOR, Serving } from "./serving.ts";

/** A verification that says how far it is. */

let serving: Serving;
let id = "";

beforeAll(async () => {
  serving = await Serving.start({ folder: true });
  const client = clientOf(OPERATOR);
  id = (await client.me()).default_workspace ?? "";
  for (let i = 0; i < 40; i += 1) writeFileSync(join(serving.base, "project", `${i}.txt`), `text ${i}\n`.repeat(20));
  await client.workspace(id).snapshot({ message: "forty files" });
});
afterAll(() => serving[Symbol.asyncDispose]());

const clientOf = (token: string) => createClient({ url: `http://127.0.0.1:${serving.port}`, token });

/** The events of a stream that ends by itself, each with its type. */
async function stepsAt(query: string, token = OPERATOR): Promise<{ type: string; data: unknown }[]> {
  const { text } = await serving.ask(`/v1/workspaces/${id}/verify-steps${query}`, { token });
  return text
    .split("\n\n")
    .filter((block) => block.includes("data: "))
    .map((block) => ({
      type: /^event: (\w+)$/m.exec(block)?.[1] ?? "",
      data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "null"),
    }));
}

/** A result without what differs between two checks: how long one takes, and the head, which is kept a moment later. */
const lasting = (result: VerifyStepShape["result"]) => ({ ...result, seconds: 0, anchored_to: 0 });

describe("the steps of a verification", () => {
  it("say how many of the events and bytes were read, and end with the result", async () => {
    const steps = (await stepsAt("")).map(({ data }) => data as VerifyStepShape);
    const result = steps.at(-1)?.result;
    expect(result).toMatchObject({ ok: true, problems: [] });
    expect(steps.map(({ seq }) => seq)).toEqual(steps.map((_, i) => i + 1));
    const told = (unit: Progress["unit"]) => steps.flatMap(({ progress }) => (progress?.unit === unit ? progress : []));
    const { events = -1, bytes = -1 } = result ?? {};
    expect(told("events").at(-1)).toEqual({ phase: "verify", done: events, total: events, unit: "events" });
    expect(told("bytes").at(-1)).toEqual({ phase: "verify", done: bytes, total: bytes, unit: "bytes" });
    const plain = await serving.ask(`/v1/workspaces/${id}/verify`);
    expect(lasting(plain.json())).toEqual(lasting(result));
  });

  it("say nothing of the contents where these are not read", async () => {
    const steps = (await stepsAt("?quick=true")).map(({ data }) => data as VerifyStepShape);
    expect(steps.filter(({ progress }) => progress?.unit === "bytes")).toEqual([]);
    expect(steps.at(-1)?.result).toMatchObject({ ok: true, bytes: 0 });
  });

  it("end with a problem if the verification fails", async () => {
    const steps = await stepsAt("?expect=nonsense");
    expect(steps).toHaveLength(1);
    expect(steps[0]).toMatchObject({ type: "problem", data: { status: 400, code: "USAGE" } });
    expect((await serving.ask(`/v1/workspaces/${id}/verify-steps?quick=perhaps`)).status).toBe(400);
    expect((await serving.ask("/v1/workspaces/nothing/verify-steps")).status).toBe(404);
  });

  it("name a damaged file of the store to operators, and no folder of the machine to others", async () => {
    const packs = join(serving.base, "store/blobs/packs");
    const name = readdirSync(packs, { recursive: true, encoding: "utf8" }).find((one) => one.endsWith(".pack")) ?? "";
    const pack = join(packs, name);
    const bytes = readFileSync(pack);
    const at = bytes.length - 5;
    writeFileSync(pack, bytes.with(at, (bytes.at(at) ?? 0) ^ 1));
    const [all, some] = [await stepsAt(""), await stepsAt("", serving.token("reader"))].map((one) =>
      JSON.stringify(one),
    );
    writeFileSync(pack, bytes);
    expect(all).toContain(pack);
    expect(some).toContain('"ok":false');
    expect(some).not.toContain(serving.base);
  });

  it("are not sent to a HEAD, which starts no work", async () => {
    const { status, text } = await serving.ask(`/v1/workspaces/${id}/verify-steps`, { method: "HEAD" });
    expect([status, text]).toEqual([200, ""]);
  });
});

describe("a client's verification", () => {
  it("reports its progress, and resolves to the same result", async () => {
    const told: Progress[] = [];
    const workspace = clientOf(serving.token("reader")).workspace(id);
    const result = await workspace.verify({ onProgress: (progress) => void told.push(progress) });
    expect(lasting(result)).toEqual(lasting(await workspace.verify()));
    expect(told.at(-1)).toEqual({ phase: "verify", done: result.bytes, total: result.bytes, unit: "bytes" });
  });

  it("throws the error of the server, with its code", async () => {
    const workspace = clientOf(OPERATOR).workspace(id);
    const failed = workspace.verify({ expect: "nonsense", onProgress: () => undefined });
    await expect(failed).rejects.toMatchObject({ code: "USAGE" });
    const missing = clientOf(OPERATOR)
      .workspace("nothing")
      .verify({ onProgress: () => undefined });
    await expect(missing).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("stops at the server when its signal aborts, and throws the signal's reason", async () => {
    const stop = new AbortController();
    const reason = new Error("seen enough");
    const workspace = clientOf(OPERATOR).workspace(id);
    const stopped = workspace.verify({ onProgress: () => stop.abort(reason), signal: stop.signal });
    await expect(stopped).rejects.toBe(reason);
    // The turn of the stopped verification is free again.
    expect(await workspace.verify({ quick: true })).toMatchObject({ ok: true });
  });
});
