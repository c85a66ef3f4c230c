import { join, resolve } from "node:path";
import { folderOfAddress, storeScheme } from "../api/store-address.ts";
import type { StoreOptions } from "../api/store-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { wholePath } from "../core/tree/root-place.ts";
import { typedPath } from "./user-path.ts";
import { usageError } from "./usage-error.ts";

/** The inputs that decide the folders of the store and the configuration. */
export interface PlaceInputs {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** The current folder. A function is called only if a path is relative. */
  readonly cwd: string | (() => string);
  /** `--store`. */
  readonly store: string | undefined;
  /** True for a command that keeps running: it can have its store in memory. */
  readonly goesOn?: boolean;
}

/**
 * Returns the folder that a variable names. An empty variable counts as unset. Throws `USAGE` for a path that is not
 * absolute.
 */
function folderIn(env: PlaceInputs["env"], name: string): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : wholePath(`$${name}`, value);
}

/**
 * Returns the folder of the store (`--store`, else `CHRONICLE_HOME`, else `$XDG_STATE_HOME/chronicle`, else
 * `~/.local/state/chronicle`), that of the key and the heads (`$XDG_CONFIG_HOME/chronicle`, else
 * `~/.config/chronicle`), and the home folder, if it is known: only folders that are not named need it. Throws `USAGE`
 * for a variable that is no absolute path: a user who sets one means a certain place, and must get no other. Checks
 * `CHRONICLE_HOME` with `--store`, too: the installed hook passes the variable on as that option. `--store` also takes
 * an address with a scheme (`file:///…`). Throws `USAGE` for `--store memory:`, which is no folder, if the command ends
 * at once.
 */
export function placesOf(inputs: PlaceInputs): Pick<StoreOptions, "home" | "configFolder" | "userHome"> {
  const { env, store, userHome } = inputs;
  // An empty `$HOME` names a place that does not exist, so it is refused, unlike an unset one.
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
  // The process of a store, its hooks and its socket are found by the folder, however that is written.
  if (scheme === "file") return resolve(folderOfAddress(store));
  if (goesOn === true) return store;
  throw usageError(
    "--store memory: is gone when the command ends, and this command ends at once",
    "name a folder; or run `serve --store memory: --port PORT`, and use that with --remote",
  );
}

function usualHome({ env, userHome }: PlaceInputs): string {
  return join(folderIn(env, "XDG_STATE_HOME") ?? join(knownHome(userHome), ".local", "state"), "chronicle");
}

/**
 * Returns the folders of Chronicle's own data: the store, the configuration folder, and with `--store` also the store
 * that is used without it, if that is known. A file that the user wants to have written must lie in none of them.
 * Throws `USAGE`, as `placesOf` does.
 */
export function ownFolders(inputs: PlaceInputs): readonly string[] {
  const { home, configFolder } = placesOf(inputs);
  const { env, userHome, store } = inputs;
  const isKnown = folderIn(env, "CHRONICLE_HOME") ?? folderIn(env, "XDG_STATE_HOME") ?? userHome;
  if (store === undefined || isKnown === "") return [home, configFolder];
  return [home, configFolder, placesOf({ ...inputs, store: undefined }).home];
}

/** Returns the home folder. Throws `USAGE` if it is not known, as for a container's user who is in no list of users. */
export function knownHome(userHome: string): string {
  if (userHome !== "") return wholePath("$HOME", userHome);
  throw new ChronicleError("USAGE", "$HOME is not set, and the system knows no home folder of this user", {
    hint: "set HOME, or both CHRONICLE_HOME and XDG_CONFIG_HOME, to folders of this user's",
  });
}
