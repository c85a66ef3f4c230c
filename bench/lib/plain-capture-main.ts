/**
 * The least that a first capture needs, in plain Node: reads each file, hashes its content, compresses the contents in
 * blocks and writes them to packs, and writes the list of files. Packs and list are synced. There are no limits, rules,
 * Merkle tree, events or indexes. The bench shows with it how much of a capture's time the machine and Node need.
 *
 * Arguments: the tree, and a new folder for the packs and the list.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { constants, zstdCompressSync } from "node:zlib";

const BLOCK_BYTES = 2 ** 20;

interface Share {
  readonly tree: string;
  readonly pack: string;
  readonly paths: readonly string[];
}

if (isMainThread) await capture(process.argv[2] ?? "", process.argv[3] ?? "");
else parentPort?.postMessage(packed(workerData as Share));

async function capture(tree: string, folder: string): Promise<void> {
  const paths = pathsOf(tree, "");
  const workers = availableParallelism();
  const size = Math.ceil(paths.length / workers);
  const lists = await Promise.all(
    Array.from({ length: workers }, (_, i) => {
      const share: Share = {
        tree,
        pack: join(folder, `pack-${i}`),
        paths: paths.slice(i * size, (i + 1) * size),
      };
      return answerOf(new Worker(new URL(import.meta.url), { workerData: share }));
    }),
  );
  synced(join(folder, "list"), lists.join(""));
  const fd = openSync(folder, "r");
  fsyncSync(fd);
  closeSync(fd);
}

function answerOf(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    worker.once("message", (list: string) => resolve(list));
    worker.once("error", reject);
  });
}

function pathsOf(tree: string, folder: string): string[] {
  return readdirSync(join(tree, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === ".git") return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? pathsOf(tree, path) : [path];
  });
}

/** Writes the contents of a share's files to a pack. Returns the lines of the list: hash, size, mode, time and path. */
function packed({ tree, pack, paths }: Share): string {
  const fd = openSync(pack, "w");
  const known = new Set<string>();
  let [pieces, bytes]: [Buffer[], number] = [[], 0];
  const flush = (): void => {
    const params = { [constants.ZSTD_c_compressionLevel]: 1 };
    if (bytes > 0) writeSync(fd, zstdCompressSync(Buffer.concat(pieces), { params }));
    [pieces, bytes] = [[], 0];
  };
  const lines = paths.map((path) => {
    const stat = lstatSync(join(tree, path));
    const content = stat.isSymbolicLink()
      ? Buffer.from(readlinkSync(join(tree, path)))
      : readFileSync(join(tree, path));
    const hash = createHash("sha256").update(content).digest("hex");
    if (!known.has(hash)) {
      known.add(hash);
      pieces.push(content);
      bytes += content.length;
      if (bytes >= BLOCK_BYTES) flush();
    }
    return `${hash} ${stat.size} ${stat.mode} ${stat.mtimeMs} ${path}\n`;
  });
  flush();
  fsyncSync(fd);
  closeSync(fd);
  return lines.join("");
}

function synced(file: string, text: string): void {
  writeFileSync(file, text);
  const fd = openSync(file, "r+");
  fsyncSync(fd);
  closeSync(fd);
}
