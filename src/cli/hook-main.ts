/**
 * What the installed hook runs where the long-lived process does not answer: `hook.js AGENT [--strict] [--direct]
 * [--store DIR] [--parent PID]`. Beside `chronicle hook` because it starts faster: no table of commands, no parser. The script that
 * starts it has compiled code kept in the store's cache.
 */
const [agent = "", ...rest] = process.argv.slice(2);
const at = rest.indexOf("--store");
const store = at < 0 ? undefined : rest[at + 1];
const strict = rest.includes("--strict");
const parent = rest.includes("--parent") ? Number(rest[rest.indexOf("--parent") + 1]) : 0;
try {
  const [{ hookCommand }, { processIo }, { default: packageJson }] = await Promise.all([
    import("./hooking/hook-command.ts"),
    import("./process-io.ts"),
    import("../../package.json", { with: { type: "json" } }),
  ]);
  const words = { agent, strict, store, direct: rest.includes("--direct"), ...(parent > 0 ? { parent } : {}) };
  process.exitCode = await hookCommand(processIo(packageJson.version), words);
} catch (error) {
  process.stderr.write(`chronicle: ${error instanceof Error ? error.message : String(error)}\n`);
  // 2: the tool does not run. Anything else, and it does.
  process.exitCode = strict ? 2 : 1;
}
