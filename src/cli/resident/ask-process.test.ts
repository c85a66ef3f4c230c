import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CommandCall } from "../../daemon/command-call.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { askProcess, reportEnd } from "./ask-process.ts";

const request = "00000000-0000-4000-8000-000000000001";

/** Runs `work` while a process answers each request at the store's socket with status 200 and `body`. */
async function answeredWith(body: string, work: (home: string) => Promise<void>): Promise<void> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-test-")));
  mkdirSync(join(home, "run"), { mode: 0o700 });
  const address = join(home, "run", "serve.sock");
  await using server = createServer((_asked, reply) => {
    reply.setHeader("content-length", Buffer.byteLength(body));
    reply.end(body);
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(address, () => resolve());
  await listening;
  chmodSync(address, 0o600);
  try {
    await work(home);
  } finally {
    rmSync(home, { recursive: true });
  }
}

describe("an invalid answer of the store's process", () => {
  it.each(["", "garbage\n", '{"code":0}\n', '{"code":0,"parts":[[1,5]'])(
    "means that the command may have begun, and not that it is done: %j",
    async (body) => {
      await answeredWith(body, async (home) => {
        const call = { request, argv: ["status"] } as unknown as CommandCall;
        expect(await askProcess(new NodeDisk(), home, call)).toEqual({ state: "direct", request });
        const report = { id: "r" } as unknown as Parameters<typeof reportEnd>[1];
        expect(await reportEnd(home, report, { request, show: undefined })).toBeUndefined();
      });
    },
  );
});
