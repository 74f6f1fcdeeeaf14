/** The work of `strongroom audit checkpoint`. */
import { resolve } from 'node:path'
import { localSigner } from '../../adapters/keys/index.ts'
import type { CommandWork } from '../command.ts'
import type { Secret } from '../config/define-config.ts'
import { readSecret } from '../config/secrets.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { writeNewFile } from '../output/new-file.ts'

export const auditCheckpoint: CommandWork = async ({ options, output, environment, openVault }) => {
  const keyId = options.text('keyId')
  const [file, env] = [options.text('keyFile'), options.text('keyEnv')]
  if (keyId === undefined) throw new CommandFailure(EXIT.usage, 'Name the key with --key-id.')
  if ((file === undefined) === (env === undefined))
    throw new CommandFailure(EXIT.usage, 'Name the private key with either --key-file or --key-env.')
  const secret: Secret = file === undefined ? { env: env ?? '' } : { file }
  const flag = file === undefined ? '--key-env' : '--key-file'
  const privateKey = await readSecret(secret, flag, { environment, pathOf: (path) => resolve(path) })
  const signer = localSigner({ keyId, privateKey })
  const to = options.text('to')
  const vault = await openVault()
  const signed = await vault.checkpointAudit({ signer })
  const text = `${JSON.stringify(signed)}\n`
  if (to === undefined) await output.piece(text)
  else {
    await writeNewFile(to, [text])
    const { events, chains, timestamp } = signed.checkpoint
    output.result(
      { file: to, events, chains: chains.length, timestamp },
      () => `Signed ${events} events to ${to}. Keep it elsewhere.`,
    )
  }
  return undefined
}
