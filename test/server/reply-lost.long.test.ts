import { globSync, readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ServerProcess } from "../helpers/server-process.ts";

/** A server that is killed between a change and its answer. */

/** Removes the replies from the book of replies, but not the lines that begin the changes. Returns their number. */
function loseReplies(server: ServerProcess): number {
  const [book = ""] = globSync(`${server.base}/**/replies.ndjson`);
  const lines = readFileSync(book, "utf8").split("\n");
  const kept = lines.filter((line) => !line.includes('"reply"'));
  writeFileSync(book, kept.join("\n"));
  return lines.length - kept.length;
}

async function asked(server: ServerProcess, path: string, body: unknown, key: string) {
  const headers = {
    authorization: `Bearer ${server.token}`,
    "content-type": "application/json",
    "idempotency-key": key,
  };
  const answer = await fetch(`${server.url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
}

async function text(server: ServerProcess, path: string): Promise<string> {
  const answer = await fetch(`${server.url}/v1${path}`, { headers: { authorization: `Bearer ${server.token}` } });
  return answer.text();
}

it("an undo or a snapshot whose reply was lost with the server is not done twice, and is answered", async () => {
  await using server = new ServerProcess();
  await server.start();
  const made = await asked(server, "/workspaces", { name: "w" }, "made");
  const id = made.json["workspace"] as string;
  for (const content of ["one", "two", "three"]) {
    const headers = { authorization: `Bearer ${server.token}` };
    await fetch(`${server.url}/v1/workspaces/${id}/files/f`, { method: "PUT", headers, body: content });
  }
  const undo = () => asked(server, `/workspaces/${id}/undo`, {}, "undo");
  const snapshot = () => asked(server, `/workspaces/${id}/snapshots`, { name: "s" }, "snapshot");
  const first = await undo();
  expect([first.status, first.json["undo_id"]]).toEqual([200, expect.any(String)]);
  const taken = await snapshot();
  expect([taken.status, taken.json["number"]]).toEqual([201, 1]);
  await server.kill();
  expect(loseReplies(server)).toBeGreaterThanOrEqual(2);
  await server.start();
  const again = await undo();
  expect([again.status, again.json]).toEqual([
    200,
    expect.objectContaining({ undo_id: first.json["undo_id"], notes: [expect.stringContaining("done before")] }),
  ]);
  expect(await text(server, `/workspaces/${id}/files/f`)).toBe("two");
  // This reply is kept.
  expect((await undo()).json).toEqual(again.json);
  const lost = await snapshot();
  expect([lost.status, lost.json]).toEqual([taken.status, taken.json]);
});
