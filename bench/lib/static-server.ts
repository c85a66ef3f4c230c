import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A server of static files, in a process of its own. Disposal ends it. */
export interface StaticServer extends Disposable {
  readonly name: string;
  readonly url: string;
}

/**
 * Starts a minimal server with `node:http`. For each request it calls `stat`, reads the file, and answers with
 * `Content-Length`, `Content-Type` and `ETag`.
 */
export async function nodeStaticServer(folder: string): Promise<StaticServer> {
  const program = join(import.meta.dirname, "static-server-main.ts");
  const port = await freePort();
  const child = spawn(process.execPath, [program, folder, String(port)], { stdio: ["ignore", "inherit", "inherit"] });
  return whenReady("node:http, a file from a folder", port, child);
}

/**
 * Starts nginx with one worker. It is configured as in Debian, but without an access log. `scratch`: a folder for its
 * other files. Resolves to `undefined` if nginx is not installed.
 */
export async function nginxServer(folder: string, scratch: string): Promise<StaticServer | undefined> {
  if (spawnSync("nginx", ["-v"]).error !== undefined) return undefined;
  const port = await freePort();
  const config = join(scratch, "nginx.conf");
  mkdirSync(join(scratch, "logs"), { recursive: true });
  // As root, nginx would run its worker as another user, who cannot read the files of root.
  const user = process.getuid?.() === 0 ? "user root;" : "";
  writeFileSync(
    config,
    `${user} worker_processes 1; daemon off; pid ${scratch}/nginx.pid; error_log ${scratch}/logs/error.log;
events { worker_connections 1024; }
http { access_log off; sendfile on; tcp_nopush on; types_hash_max_size 2048; client_body_temp_path ${scratch}/body;
  proxy_temp_path ${scratch}/proxy; fastcgi_temp_path ${scratch}/fastcgi; uwsgi_temp_path ${scratch}/uwsgi; scgi_temp_path ${scratch}/scgi;
  server { listen 127.0.0.1:${port}; root ${folder}; } }\n`,
  );
  return whenReady("nginx, one worker", port, spawn("nginx", ["-c", config, "-p", scratch], { stdio: "inherit" }));
}

async function whenReady(name: string, port: number, child: ChildProcess): Promise<StaticServer> {
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 200 && child.exitCode === null; tries++) {
    const answered = await fetch(url).then(
      async (reply) => (await reply.arrayBuffer(), true),
      () => false,
    );
    if (answered) return { name, url, [Symbol.dispose]: () => void child.kill() };
    await sleep(25);
  }
  child.kill();
  throw new Error(`${name} has not started`);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
