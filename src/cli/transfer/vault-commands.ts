/** The commands that copy whole vaults: `move`, `backup` and `restore`. */
import type { CommandDescription } from '../command.ts'

const PACE = { flags: '--pace <number>', text: 'rows a second at most (default: as fast as it goes)' }

export const MOVE: CommandDescription = {
  name: 'move',
  summary: 'Move the vault to another storage, sealed, while it works. It is closed here when the copy takes over.',
  options: [
    { flags: '--to-sqlite <file>', text: 'the SQLite file to move to' },
    {
      flags: '--to-postgres-env <variable>',
      text: 'the variable of the environment with the address of the PostgreSQL to move to',
    },
    { flags: '--to-schema <name>', text: 'the schema there (default: strongroom)' },
    { flags: '--skip-verify', text: 'do not verify records and audit trail afterwards; no key is needed then' },
    {
      flags: '--reopen',
      text: 'give up a move that has closed the vault: it opens here again. Refused when the copy has taken over',
    },
    { flags: '--copy-is-destroyed', text: 'with --reopen: also then. Only if the copy cannot be opened any more' },
    PACE,
  ],
  examples: [
    'npx strongroom move --to-postgres-env NEW_DATABASE_URL',
    'npx strongroom move --to-sqlite moved.db --json',
    'npx strongroom move --reopen',
  ],
  load: async () => (await import('./move-command.ts')).moveCommand,
}

export const BACKUP: CommandDescription = {
  name: 'backup',
  args: [{ name: '<file>', text: 'a new file, or - for standard output' }],
  summary: 'Back up the vault while it works, sealed as it is stored: all of it, or what changed since an earlier backup.',
  options: [
    { flags: '--since <manifest>', text: 'the manifest of the earlier backup: write only what changed since' },
    { flags: '--manifest <file>', text: 'where to write the manifest of this one (default: the file with .manifest behind it)' },
    { flags: '--recipient <file>', text: 'seal it once more for this public key (PEM, X25519)' },
    PACE,
  ],
  examples: [
    'npx strongroom backup monday.backup',
    'npx strongroom backup tuesday.backup --since monday.backup.manifest --recipient backup-public.pem',
    'npx strongroom backup - | ssh store "cat > vault.backup"',
  ],
  load: async () => (await import('./backup-command.ts')).backupCommand,
}

export const RESTORE: CommandDescription = {
  name: 'restore',
  args: [{ name: '<files...>', text: 'a full backup, and those that were made since it, in order; - for standard input' }],
  summary: 'Restore the vault into the empty storage of the configuration. It opens when all of it was checked.',
  options: [
    { flags: '--private-key <file>', text: 'the private key of the recipient that the backups are sealed for (PEM, X25519)' },
    { flags: '--skip-verify', text: 'do not verify records and audit trail afterwards; no key of the vault is needed then' },
    PACE,
  ],
  examples: [
    'npx strongroom restore monday.backup tuesday.backup',
    'npx strongroom restore monday.backup --private-key backup-private.pem --json',
  ],
  load: async () => (await import('./restore-command.ts')).restoreCommand,
}
