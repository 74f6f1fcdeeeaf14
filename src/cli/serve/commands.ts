/** The command `serve`. */
import type { CommandDescription } from '../command.ts'

export const SERVE: CommandDescription = {
  name: 'serve',
  summary: 'Serve the vault over HTTP, with health and metrics on a port of their own, until SIGTERM or Ctrl-C.',
  options: [
    { flags: '--port <number>', text: 'port of the interface (default: server.port, or 8420)' },
    { flags: '--host <address>', text: 'address to listen at (default: server.host, or 127.0.0.1)' },
    { flags: '--health-port <number>', text: 'port of /live, /ready and /metrics (default: server.health.port, or 8421)' },
    { flags: '--health-host <address>', text: 'its address (default: server.health.host, or 127.0.0.1)' },
    { flags: '--workers <number>', text: 'processes that answer requests (default: server.workers, or 1)' },
    { flags: '--tls-cert <file>', text: 'certificate in PEM; SIGHUP reads it again (default: server.tls.cert)' },
    { flags: '--tls-key <file>', text: 'its key in PEM (default: server.tls.key)' },
    { flags: '--origin <origin>', text: 'origin whose pages may call the vault from a browser', isList: true },
    { flags: '--console', text: 'serve the console under /console (default: http.console, or not)' },
    { flags: '--start-ms <number>', text: 'try again for this long if storage or keys are away (default: server.startMs, or 0)' },
    {
      flags: '--shutdown-delay-ms <number>',
      text: 'accept requests for this long after SIGTERM (default: server.shutdown.delayMs, or 0)',
    },
    { flags: '--log-requests', text: 'log each request: method, status, time; never a path or a value' },
  ],
  examples: [
    'npx strongroom serve --console',
    'npx strongroom serve --port 443 --host 0.0.0.0 --tls-cert tls.crt --tls-key tls.key --workers 2',
    'curl http://127.0.0.1:8421/ready',
  ],
  load: async () => (await import('./serve.ts')).serve,
}
