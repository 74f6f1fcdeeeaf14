/** The signer that a line names: `--key-id`, and the private key of `--key-file` or `--key-env`. */
import { resolve } from 'node:path'
import { localSigner } from '../../adapters/keys/index.ts'
import type { CommandRun } from '../command.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import type { Secret } from './define-config.ts'
import { readSecret } from './secrets.ts'

/** Returns the signer; undefined if the line names no key. Throws a usage failure for a half of one. */
export async function readSigner({
  options,
  environment,
}: Pick<CommandRun, 'options' | 'environment'>): Promise<ReturnType<typeof localSigner> | undefined> {
  const keyId = options.text('keyId')
  const [file, env] = [options.text('keyFile'), options.text('keyEnv')]
  if (keyId === undefined && file === undefined && env === undefined) return undefined
  if (keyId === undefined) throw new CommandFailure(EXIT.usage, 'Name the key with --key-id.')
  if ((file === undefined) === (env === undefined))
    throw new CommandFailure(EXIT.usage, 'Name the private key with either --key-file or --key-env.')
  const secret: Secret = file === undefined ? { env: env ?? '' } : { file }
  const flag = file === undefined ? '--key-env' : '--key-file'
  const privateKey = await readSecret(secret, flag, { environment, pathOf: (path) => resolve(path) })
  return localSigner({ keyId, privateKey })
}
