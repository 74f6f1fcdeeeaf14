/** The command `audit follow`. */
import type { CommandDescription } from '../command.ts'

export const AUDIT_FOLLOW: CommandDescription = {
  name: 'audit follow',
  summary: 'Deliver the events of the audit trail as they are committed, each at least once, from a cursor that is kept.',
  options: [
    {
      flags: '--to <target>',
      text: 'a file, - for standard output, https://…, syslog://host:port (TCP), syslog+tls://… or syslog+udp://…',
    },
    { flags: '--form <form>', text: 'event, which the verifier reads; ocsf; or cef (default: event)' },
    { flags: '--cursor <file>', text: 'where the position is kept' },
    { flags: '--body <body>', text: 'HTTP: lines, or array for a JSON array (default: lines)' },
    { flags: '--header-env <name=variable>', text: 'HTTP: a header, with the environment variable of its value', isList: true },
    { flags: '--header-file <name=file>', text: 'HTTP: a header, with the file of its value', isList: true },
    { flags: '--ca <file>', text: 'TLS of syslog: certificates of authorities in place of those of the system' },
    { flags: '--cert <file>', text: 'TLS of syslog: certificate of this client' },
    { flags: '--key <file>', text: 'TLS of syslog: its key' },
    { flags: '--poll <milliseconds>', text: 'time between two looks for new events (default: 500)' },
  ],
  examples: [
    'npx strongroom audit follow --to audit.ndjson --cursor audit.cursor',
    'npx strongroom audit follow --to https://siem.example/in --header-env authorization=SIEM_TOKEN --form ocsf --cursor siem.cursor',
    'npx strongroom audit follow --to syslog+tls://logs.example:6514 --form cef --cursor syslog.cursor',
  ],
  load: async () => (await import('./audit-follow.ts')).auditFollow,
}
