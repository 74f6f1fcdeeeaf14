/** The work of `strongroom audit checkpoint`. */
import type { CommandWork } from '../command.ts'
import { readSigner } from '../config/read-signer.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { writeNewFile } from '../output/new-file.ts'

export const auditCheckpoint: CommandWork = async ({ options, output, environment, openVault }) => {
  const signer = await readSigner({ options, environment })
  if (signer === undefined) throw new CommandFailure(EXIT.usage, 'Name the key with --key-id.')
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
