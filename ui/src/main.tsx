import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ChronicleError } from "../../src/client/index.ts";
import { applyTheme } from "./shell/theme.ts";
import { router } from "./router.tsx";
import { SessionGate } from "./session/session-gate.tsx";
import "./styles/tokens.css";
import "./styles/base.css";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // `ChronicleClient` already retries the requests that can be repeated.
      retry: false,
      staleTime: 2_000,
      throwOnError: (error) => !(error instanceof ChronicleError),
    },
  },
});

applyTheme();
const root = document.querySelector("#root");
if (root === null) throw new Error("the page has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <SessionGate>
        <RouterProvider router={router} />
      </SessionGate>
    </QueryClientProvider>
  </StrictMode>,
);
