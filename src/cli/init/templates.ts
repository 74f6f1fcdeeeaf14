/** The files that `init` writes. */
import type { InitAnswers } from './ask-answers.ts'

export const FILES = { schema: 'schema.ts', config: 'strongroom.config.ts' } as const
/** What version control must not have. */
export const IGNORED: readonly string[] = ['vault.key', 'vault.db', 'vault.db-wal', 'vault.db-shm']

/** The schema of a new vault: something to try, and to replace. */
export function schemaText(): string {
  return `/** What the vault stores. The types of the application are inferred from it. */
import { column, defineSchema, mask } from 'strongroom'

export const schema = defineSchema({
  customers: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({ unique: true, normalize: ['trim', 'lowercase'], redaction: 'MASKED', mask: mask.email, token: 'random' }),
    phone: column.string({ redaction: 'MASKED', mask: mask.keepLast(4), token: 'random' }),
    country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
  },
})
`
}

/** The configuration of a new vault. */
export function configText({ id, storage, postgresEnv }: InitAnswers): string {
  const place =
    storage === 'sqlite'
      ? `{ sqlite: { filename: 'vault.db' } }`
      : `{ postgres: { connectionString: { env: ${quoted(postgresEnv)} } } }`
  return `/** The vault of this folder, for the command \`strongroom\`. Paths begin here. Secrets are named, never written down. */
import { defineConfig } from 'strongroom/config'
import { schema } from './schema.ts'

export default defineConfig({
  vault: {
    id: ${quoted(id)},
    schema,
    storage: ${place},
    keys: { file: 'vault.key' },
    policy: {
      support: [
        'ALLOW READ, DETOKENIZATION ON customers.name, customers.email, customers.phone WITH REDACTION = MASKED',
        'ALLOW READ ON customers.country',
      ],
    },
  },
  server: { port: 8420 },
})
`
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, (one) => `\\${one}`)}'`
}
