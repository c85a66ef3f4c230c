// Installs the real agents for the tests, outside of the clone. Prints the path of their folder, which is the value for
// $CHRONICLE_TEST_AGENTS.
//
// The versions are pinned in test/agents/versions.json. Install scripts of packages are not run. Each set of versions
// has a folder of its own, `chronicle-test-agents/…` in the user's cache. An existing folder is used again. This script
// is plain JavaScript for Node 20 and later.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dependencies = JSON.parse(readFileSync(join(root, "test", "agents", "versions.json"), "utf8"));

function folderOf(versions) {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const platform = `${process.platform}-${process.arch}`;
  const set = createHash("sha256")
    .update(`${platform} ${JSON.stringify(versions)}`)
    .digest("hex")
    .slice(0, 16);
  return join(cache, "chronicle-test-agents", set);
}

/**
 * Installs the agents into a temporary folder beside the final one. Renames it when the installation is complete, so
 * that an interrupted installation leaves no incomplete folder.
 */
function install(folder) {
  mkdirSync(dirname(folder), { recursive: true });
  const making = mkdtempSync(`${folder}-`);
  writeFileSync(join(making, "package.json"), JSON.stringify({ private: true, dependencies }));
  const quiet = ["--no-audit", "--no-fund", "--loglevel", "error"];
  const npm = spawnSync("npm", ["install", "--prefix", making, "--ignore-scripts", ...quiet], {
    cwd: making,
    stdio: ["ignore", 2, 2],
  });
  if (npm.status !== 0) {
    rmSync(making, { recursive: true, force: true });
    throw new Error(`npm could not install ${Object.keys(dependencies).join(", ")}`);
  }
  try {
    renameSync(making, folder);
  } catch (error) {
    // Another process may have installed the same agents in the meantime.
    rmSync(making, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

const folder = folderOf(dependencies);
if (!existsSync(folder)) install(folder);
console.log(folder);
