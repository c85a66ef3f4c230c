import { createServer } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { askServer } from "./ask-server.ts";

test.each([
  ["a%20problem", "a problem"],
  ["%zz is no escape", "%zz is no escape"],
])("the problem of an answer is decoded if possible: %s", async (header, problem) => {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-ask-"));
  const address = join(folder, "s");
  const server = createServer((_request, response) => {
    response.setHeader("x-chronicle-problem", header);
    response.end("text");
  });
  try {
    await new Promise<void>((done) => server.listen(address, done));
    const answer = await askServer({ address, path: "/", method: "GET", version: "1" });
    expect(answer).toEqual({ status: 200, body: "text", problem });
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
});
