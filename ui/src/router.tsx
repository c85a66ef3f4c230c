import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { Home } from "./home/home.tsx";
import { Missing, Shell, ViewFailed } from "./shell/shell.tsx";
import { WorkspaceFrame } from "./shell/workspace-frame.tsx";
import { Timeline } from "./timeline/timeline.tsx";

// The address names everything that a view shows. A person who opens a copied address sees the same.

const root = createRootRoute({ component: Shell, notFoundComponent: Missing, errorComponent: ViewFailed });

const home = createRoute({ getParentRoute: () => root, path: "/", component: Home });

const workspace = createRoute({
  getParentRoute: () => root,
  path: "/w/$workspace",
  component: WorkspaceFrame,
  errorComponent: ViewFailed,
});

type Given = Readonly<Record<string, unknown>>;

/** Returns the text with this name in the address; `undefined` if the address has no such text. */
function text(given: Given, name: string): string | undefined {
  const value = given[name];
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function texts<Name extends string>(given: Given, names: readonly Name[]): { [name in Name]?: string } {
  const found: { [name in Name]?: string } = {};
  for (const name of names) {
    const value = text(given, name);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

const timeline = createRoute({
  getParentRoute: () => workspace,
  path: "/",
  // `work` is the selected line, and `at` is the playhead as `seq:N`, or a time. The others are filters.
  validateSearch: (given: Given) => texts(given, ["work", "at", "actor", "kind", "text", "file", "since"]),
  component: Timeline,
});

const changes = createRoute({
  getParentRoute: () => workspace,
  path: "/changes",
  validateSearch: (given: Given) => texts(given, ["work", "file", "title"]),
  component: lazyRouteComponent(() => import("./changes/changes-page.tsx"), "ChangesPage"),
});

const file = createRoute({
  getParentRoute: () => workspace,
  path: "/file",
  validateSearch: (given: Given) => texts(given, ["path", "n", "beside"]),
  component: lazyRouteComponent(() => import("./file/file-page.tsx"), "FilePage"),
});

const files = createRoute({
  getParentRoute: () => workspace,
  path: "/files",
  validateSearch: (given: Given) => texts(given, ["folder", "at", "name"]),
  component: lazyRouteComponent(() => import("./file/files-page.tsx"), "FilesPage"),
});

const conflicts = createRoute({
  getParentRoute: () => workspace,
  path: "/conflicts",
  validateSearch: (given: Given) => texts(given, ["conflict"]),
  component: lazyRouteComponent(() => import("./undo/conflicts-page.tsx"), "ConflictsPage"),
});

const integrity = createRoute({
  getParentRoute: () => workspace,
  path: "/integrity",
  // `check` begins a check of the history, and is then removed.
  validateSearch: (given: Given) => texts(given, ["check"]),
  component: lazyRouteComponent(() => import("./integrity/integrity-page.tsx"), "IntegrityPage"),
});

const sync = createRoute({
  getParentRoute: () => workspace,
  path: "/sync",
  component: lazyRouteComponent(() => import("./sync/sync-page.tsx"), "SyncPage"),
});

const space = createRoute({
  getParentRoute: () => workspace,
  path: "/space",
  component: lazyRouteComponent(() => import("./space/space-page.tsx"), "SpacePage"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    workspace.addChildren([timeline, changes, file, files, conflicts, sync, integrity, space]),
  ]),
  defaultPreload: false,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
