import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createClient } from "../../src/client/create-node-client.ts";
import { OPERATOR, Serving } from "./serving.ts";

/** A store that may take no more, as those see it who ask a server. */

const MIB = 1024 ** 2;

/** A served folder `project`, and a limit of 1 MiB for the store. */
function full(): Promise<Serving> {
  return Serving.start({
    folder: true,
    before: (_store, base) => {
      mkdirSync(join(base, "config"), { recursive: true });
      writeFileSync(join(base, "config", "config.yaml"), `chronicle:\n  max_store_bytes: ${MIB}\n`);
      return Promise.resolve();
    },
  });
}

it("a tool's answer is not lost in a full store if its caller only wants a warning", async () => {
  await using serving = await full();
  const client = createClient({ url: `http://127.0.0.1:${serving.port}`, token: OPERATOR });
  const { default_workspace: id } = await client.me();
  const workspace = await client.store.openById(id ?? "");
  const write = (): string => {
    writeFileSync(join(serving.base, "project", "a.bin"), randomBytes(2 * MIB));
    return "the tool's answer";
  };
  const request = { type: "write_file", payload: { path: "a.bin" } };
  expect(await workspace.action({ ...request, onFailure: "warn" }, write)).toBe("the tool's answer");
  const [action] = await workspace.list();
  expect([action?.state, action?.reason]).toEqual(["done", expect.stringContaining("could not be recorded")]);
  await expect(workspace.prune({ now: true })).rejects.toMatchObject({ code: "USAGE" });
});

it("a token for some workspaces does not learn how much the whole store takes", async () => {
  await using serving = await full();
  const { default_workspace: id } = (await serving.ask("/v1/me")).json<{ default_workspace: string }>();
  const token = serving.token("agent", [id]);
  const sizes = /takes|taken/;
  const commands = { "chronicle-hints": "commands" };
  await serving.put(id, "fills", randomBytes(2 * MIB));
  const refused = await serving.put(id, "big", randomBytes(2 * MIB), { token, headers: commands });
  expect([refused.status, refused.json()["code"]]).toEqual([413, "LIMIT_EXCEEDED"]);
  expect(refused.json()["data"]).toEqual({ wanted: expect.any(Number), limit: MIB });
  expect(refused.text).not.toMatch(sizes);
  const told = await serving.put(id, "big", randomBytes(2 * MIB), { headers: commands });
  expect([told.json()["data"], told.json()["hint"]]).toEqual([
    { taken: expect.any(Number), wanted: expect.any(Number), limit: MIB },
    expect.stringContaining("takes"),
  ]);
  // Nor does it learn that from the record of a tool that ran all the same.
  writeFileSync(join(serving.base, "project", "a.bin"), randomBytes(2 * MIB));
  const asked = { type: "write_file", payload: { path: "a.bin" }, on_failure: "warn" };
  const begun = await serving.send(`/v1/workspaces/${id}/actions`, asked, { token });
  expect([begun.status, sizes.test(begun.text)]).toEqual([201, false]);
});
