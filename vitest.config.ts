import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { CountReporter } from "./test/reporter.ts";

// No test may see or touch the store, the keys or the git settings of whoever runs it.
const home = mkdtempSync(join(tmpdir(), "chronicle-test-home-"));
/** Bundles of the sources, which the test files of a run share (test/helpers/cli-package.ts). */
const packages = mkdtempSync(join(tmpdir(), "chronicle-test-packages-"));
// Some tests run the command line as other users.
chmodSync(packages, 0o755);
process.on("exit", () => {
  for (const folder of [home, packages]) rmSync(folder, { recursive: true, force: true });
});
delete process.env["CHRONICLE_HOME"];
delete process.env["NODE_EXTRA_CA_CERTS"];
// Commands work on the store itself. Tests of the store's process ask for it.
process.env["CI"] = "true";

const TESTS = ["src/**/*.test.ts", "ui/src/**/*.test.ts", "test/**/*.test.ts"];
/** Files that take over three seconds on two cores: crash sweeps, simulations, real agents and servers, many processes. */
const LONG = ["**/*.long.test.ts"];

export default defineConfig({
  test: {
    reporters: ["default", new CountReporter()],
    projects: [
      { extends: true, test: { name: "fast", include: TESTS, exclude: LONG } },
      { extends: true, test: { name: "long", include: LONG, exclude: ["node_modules/**", "dist/**"] } },
    ],
    env: {
      HOME: home,
      XDG_STATE_HOME: join(home, "state"),
      XDG_CONFIG_HOME: join(home, "config"),
      XDG_CACHE_HOME: join(home, "cache"),
      GIT_CONFIG_GLOBAL: join(home, "gitconfig"),
      GIT_CONFIG_NOSYSTEM: "1",
      CHRONICLE_TEST_PACKAGES: packages,
    },
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
