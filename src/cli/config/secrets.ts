/** Secrets that a configuration names: in a variable of the environment, or in a file. */
import { readFile } from 'node:fs/promises'
import { CommandFailure, EXIT } from '../failure.ts'
import type { Secret } from './define-config.ts'

/** Where secrets are looked up. */
export interface SecretSource {
  readonly environment: Readonly<Record<string, string | undefined>>
  pathOf(path: string): string
}

/** Returns the secret. `path`: the member of the configuration, for errors. Throws `CommandFailure` if there is none. */
export async function readSecret(secret: Secret, path: string, { environment, pathOf }: SecretSource): Promise<string> {
  if (secret.env !== undefined) return readVariable(secret.env, path, environment)
  const file = pathOf(secret.file)
  // Editors and `echo` end a file with a line break, which is part of no secret.
  const text = await readFile(file, 'utf8').then(
    (content) => content.replace(/\r?\n$/, ''),
    () => undefined,
  )
  if (text === undefined || text === '')
    throw new CommandFailure(EXIT.config, `${path}: the file ${file} cannot be read, or is empty. Put the secret there.`)
  return text
}

/** Returns the address of a PostgreSQL storage. */
export function readAddress({ connectionString }: { readonly connectionString: Secret }, source: SecretSource): Promise<string> {
  return readSecret(connectionString, 'vault.storage.postgres.connectionString', source)
}

/** Returns a variable of the environment. */
export function readVariable(name: string, path: string, environment: SecretSource['environment']): string {
  const value = environment[name]
  if (value === undefined || value === '')
    throw new CommandFailure(EXIT.config, `${path}: the environment variable ${name} is not set. Set it to the secret.`)
  return value
}
