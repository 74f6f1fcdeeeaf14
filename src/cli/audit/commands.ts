/** The commands of the audit trail. */
import type { CommandDescription, OptionDescription } from '../command.ts'
import { AUDIT_FOLLOW } from '../follow/commands.ts'

const CHECKPOINT = { flags: '--checkpoint <file>', text: 'a checkpoint that was stored elsewhere', isList: true } as const
const TO = { flags: '--to <file>', text: 'a new file (default: standard output)' }

/** The options that `readSigner` reads. `keyId` says what the name of the key is for. */
export function signerOptions(keyId: string): readonly OptionDescription[] {
  return [
    { flags: '--key-id <name>', text: keyId },
    { flags: '--key-file <file>', text: 'its private key in PEM format: Ed25519 or ML-DSA-65' },
    { flags: '--key-env <name>', text: 'environment variable with it' },
  ]
}

export const AUDIT: readonly CommandDescription[] = [
  {
    name: 'audit list',
    summary: 'List events, the newest first.',
    options: [
      { flags: '--actor <actor>', text: 'of this actor' },
      { flags: '--action <action>', text: 'of this kind: INSERT, GET, DETOKENIZE, …, or CREATE, READ, EXECUTE, LOGIN' },
      { flags: '--about <resource>', text: 'about RECORD/<id>, TABLE/<name> or CREDENTIAL/<key id>', isList: true },
      { flags: '--request <id>', text: 'of this request' },
      { flags: '--for <purpose>', text: 'of callers that stated this purpose' },
      { flags: '--from <time>', text: 'from this time on, such as 2026-01-31T12:00:00Z' },
      { flags: '--until <time>', text: 'before this time' },
      { flags: '--limit <number>', text: 'events at most (default: 25)' },
    ],
    examples: [
      'npx strongroom audit list --action DETOKENIZE --from 2026-01-31T00:00:00Z',
      'npx strongroom audit list --about TABLE/customers --limit 1000 --json',
      'npx strongroom audit list --about RECORD/<id> --action READ',
    ],
    load: async () => (await import('./audit-list.ts')).auditList,
  },
  {
    name: 'audit verify',
    summary: 'Verify the trail of the vault, or an export or delivered lines, for which neither vault nor keys are needed.',
    options: [
      CHECKPOINT,
      { flags: '--export <file>', text: 'verify this export, or - for standard input' },
      {
        flags: '--delivered <file>',
        text: 'verify lines that `audit follow` delivered: rotated files, the oldest first',
        isList: true,
      },
      { flags: '--public-key <name=file>', text: 'with these: a key that signed checkpoints', isList: true },
    ],
    examples: [
      'npx strongroom audit verify --checkpoint checkpoint.json',
      'npx strongroom audit verify --export audit.ndjson --checkpoint checkpoint.json --public-key audit-2026=audit.pub',
      'npx strongroom audit verify --delivered audit.ndjson.1 --delivered audit.ndjson',
    ],
    load: async () => (await import('./audit-verify.ts')).auditVerify,
  },
  {
    name: 'audit export',
    summary: 'Write the whole trail as lines of JSON, for `audit verify --export` and for keeping.',
    options: [CHECKPOINT, TO],
    examples: ['npx strongroom audit export --to audit.ndjson', 'npx strongroom audit export | gzip > audit.ndjson.gz'],
    load: async () => (await import('./audit-export.ts')).auditExport,
  },
  {
    name: 'audit checkpoint',
    summary: 'Sign the positions of all chains, so that it is noticed when events are removed later.',
    options: [...signerOptions('name of the key in the checkpoint'), TO],
    examples: ['npx strongroom audit checkpoint --key-id audit-2026 --key-file audit.key --to checkpoint.json'],
    load: async () => (await import('./audit-checkpoint.ts')).auditCheckpoint,
  },
  AUDIT_FOLLOW,
]
