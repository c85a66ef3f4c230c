import { join, resolve } from "node:path";
import { folderOfAddress, storeScheme } from "../api/store-address.ts";
import type { StoreOptions } from "../api/store-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { wholePath } from "../core/tree/root-place.ts";
import { typedPath } from "./user-path.ts";
import { usageError } from "./usage-error.ts";

export interface PlaceInputs {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** The current folder, or a function that returns it. The function is called only for a relative path. */
  readonly cwd: string | (() => string);
  readonly store: string | undefined;
  /** True for a command that keeps running. Only such a command can have its store in memory. */
  readonly goesOn?: boolean;
}

/**
 * Returns the folder that a variable names; `undefined` if the variable is unset or empty. Throws `USAGE` for a path
 * that is not absolute.
 */
function folderIn(env: PlaceInputs["env"], name: string): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : wholePath(`$${name}`, value);
}

/**
 * Returns three folders:
 * - `home`, the folder of the store: `--store`, else `CHRONICLE_HOME`, else `$XDG_STATE_HOME/chronicle`, else
 *   `~/.local/state/chronicle`.
 * - `configFolder`, the folder of the key and the heads: `$XDG_CONFIG_HOME/chronicle`, else `~/.config/chronicle`.
 * - `userHome`, the home folder, if it is known. The other two folders depend on the home folder only if no option or
 *   variable names them.
 *
 * Throws `USAGE` if the value of a variable is not an absolute path, because a user who sets a variable expects a
 * certain place. Throws `USAGE` if the home folder is needed but unknown. Checks `CHRONICLE_HOME` even if `--store` is
 * given, because the installed hook passes the variable on as `--store`.
 *
 * `--store` can also be an address with a scheme (`file:///…`). Throws `USAGE` for `--store memory:` if the command
 * does not keep running.
 */
export function placesOf(inputs: PlaceInputs): Pick<StoreOptions, "home" | "configFolder" | "userHome"> {
  const { env, store, userHome } = inputs;
  // Refuse an empty `$HOME`, because it names no place. An unset `$HOME` is refused only where a home folder is needed.
  if (env["HOME"] === "") wholePath("$HOME", "");
  const own = folderIn(env, "CHRONICLE_HOME");
  const chosen = store === undefined ? own : chosenStore(inputs, store);
  const config = folderIn(env, "XDG_CONFIG_HOME");
  const home = chosen ?? usualHome(inputs);
  const configFolder = join(config ?? join(knownHome(userHome), ".config"), "chronicle");
  return { home, configFolder, ...(userHome === "" ? {} : { userHome: knownHome(userHome) }) };
}

function chosenStore({ cwd, goesOn }: PlaceInputs, store: string): string {
  const scheme = storeScheme(store);
  if (scheme === undefined) return typedPath(cwd, "--store", store);
  // The folder's path identifies a store's process, hooks and socket. Therefore, all spellings of one path must give
  // the same result.
  if (scheme === "file") return resolve(folderOfAddress(store));
  if (goesOn === true) return store;
  throw usageError(
    `the store of --store ${store} exists only until the command ends, and this command ends at once`,
    `name a folder; or run \`serve --store ${store} --port PORT\`, and give the address of this server with --remote`,
  );
}

function usualHome({ env, userHome }: PlaceInputs): string {
  return join(folderIn(env, "XDG_STATE_HOME") ?? join(knownHome(userHome), ".local", "state"), "chronicle");
}

/**
 * Returns the folders in which Chronicle must not write a file for the user: the store, and the configuration folder.
 * If `--store` is given, also returns the store that would be used without `--store`, if this store is known. Throws
 * `USAGE` as `placesOf` does.
 */
export function ownFolders(inputs: PlaceInputs): readonly string[] {
  const { home, configFolder } = placesOf(inputs);
  const { env, userHome, store } = inputs;
  const isKnown = folderIn(env, "CHRONICLE_HOME") ?? folderIn(env, "XDG_STATE_HOME") ?? userHome;
  if (store === undefined || isKnown === "") return [home, configFolder];
  return [home, configFolder, placesOf({ ...inputs, store: undefined }).home];
}

/**
 * Returns the home folder. Throws `USAGE` if it is unknown, for instance because a container's user is not in the list
 * of users.
 */
export function knownHome(userHome: string): string {
  if (userHome !== "") return wholePath("$HOME", userHome);
  throw new ChronicleError("USAGE", "$HOME is not set, and the system knows no home folder of this user", {
    hint: "set HOME, or both CHRONICLE_HOME and XDG_CONFIG_HOME, to folders of this user",
  });
}
