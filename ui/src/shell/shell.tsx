import { type ErrorComponentProps, Link, Outlet, useParams } from "@tanstack/react-router";
import { CircleHelp, Search } from "lucide-react";
import { useCallback, useState } from "react";
import { useWorkspaceShape } from "../data/queries.ts";
import { useLink } from "../data/live.ts";
import { Command } from "../parts/command.tsx";
import { Mark } from "../parts/mark.tsx";
import { PathText } from "../parts/path-text.tsx";
import { Empty, Problem } from "../parts/states.tsx";
import { forgetToken, isPageToken } from "../session/session.ts";
import { KeysDialog } from "./keys-dialog.tsx";
import { Palette } from "./palette.tsx";
import { ThemeButton } from "./theme-button.tsx";
import { useKeys } from "./use-keys.ts";
import "./shell.css";

type Open = "palette" | "keys" | undefined;

/**
 * Shows the frame around every view: the bar at the top, the palette, and a message while the server does not answer.
 */
export function Shell() {
  const [open, setOpen] = useState<Open>();
  const { workspace } = useParams({ strict: false });
  const close = useCallback(() => setOpen(undefined), []);
  useKeys({
    "mod+k": () => setOpen((now) => (now === "palette" ? undefined : "palette")),
    "?": () => setOpen((now) => (now === "keys" ? undefined : "keys")),
  });
  return (
    <div className="shell">
      <a href="#view" className="skip-link">
        Skip to the view
      </a>
      <header className="top-bar">
        <Link to="/" className="brand" aria-label="Chronicle: all workspaces">
          <Mark />
          <span className="brand-name">Chronicle</span>
        </Link>
        {workspace === undefined ? null : <WorkspaceName id={workspace} />}
        <span className="grow" />
        <button
          type="button"
          className="search-button"
          aria-label={`Go to… ${MOD} K`}
          onClick={() => setOpen("palette")}
        >
          <Search size={14} aria-hidden="true" />
          <span>Go to…</span>
          <kbd>{MOD} K</kbd>
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="Keys"
          title="Keys (?)"
          onClick={() => setOpen("keys")}
        >
          <CircleHelp size={17} aria-hidden="true" />
        </button>
        <ThemeButton />
      </header>
      <LinkBanner />
      <main id="view" tabIndex={-1} className="view">
        <Outlet />
      </main>
      <Palette
        isOpen={open === "palette"}
        onClose={() => setOpen((now) => (now === "palette" ? undefined : now))}
        workspace={workspace}
        onKeys={() => setOpen("keys")}
      />
      <KeysDialog isOpen={open === "keys"} onClose={close} />
    </div>
  );
}

const MOD = navigator.userAgent.includes("Mac") ? "⌘" : "Ctrl";

function WorkspaceName({ id }: { readonly id: string }) {
  const shape = useWorkspaceShape(id);
  return (
    <Link to="/w/$workspace" params={{ workspace: id }} className="workspace-name">
      <span className="crumb" aria-hidden="true">
        /
      </span>
      <PathText path={shape?.path === "" || shape === undefined ? (shape?.name ?? id) : shape.path} />
    </Link>
  );
}

function LinkBanner() {
  const link = useLink();
  if (link === "live") return null;
  if (link === "lost")
    return (
      <div className="banner" role="alert">
        The server does not answer. What you see is from before. If it does not come back, open the address that this
        prints:
        <Command text="chronicle ui" />
      </div>
    );
  const again = (): void => {
    forgetToken();
    location.reload();
  };
  return (
    <div className="banner" role="alert">
      {isPageToken() ? (
        <>
          The server was started again, and no longer knows this tab. Open the page again:
          <Command text="chronicle ui" />
        </>
      ) : (
        "This token is no longer accepted: it was revoked, or it has expired."
      )}
      <button type="button" className="button" onClick={again}>
        Enter a token
      </button>
    </div>
  );
}

/** Shown if the address names no view. */
export function Missing() {
  return (
    <Empty title="There is no such view">
      <Link to="/" className="button">
        All workspaces
      </Link>
    </Empty>
  );
}

/** Shown in place of a view that failed. The rest of the page stays usable. */
export function ViewFailed({ error, reset }: ErrorComponentProps) {
  return <Problem error={error} onAgain={reset} />;
}
