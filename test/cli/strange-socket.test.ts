import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** A store's socket is a link if its own path is too long. The target is not safe in a folder that others can enter. */

test("`sync status` sends no request to a socket in a folder that others can enter", async () => {
  using box = new Sandbox();
  box.write("a", "a\n");
  await box.call(["init"]);
  const open = join(box.folder, "open");
  mkdirSync(open);
  chmodSync(open, 0o777);
  const asked: string[] = [];
  await using server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ok: true, version: "0.1.0", pid: 1, stays: true, items: [] }));
  });
  server.listen(join(open, "s.sock"));
  await once(server, "listening");
  mkdirSync(join(box.store, "run"), { recursive: true });
  symlinkSync(join(open, "s.sock"), join(box.store, "run", "serve.sock"));
  await box.call(["sync", "status"]);
  expect(asked).toEqual([]);
});
