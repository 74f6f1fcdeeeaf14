/** Opens a port, or says in one sentence why it cannot be opened. */
import type { AddressInfo, Server } from 'node:net'
import { CommandFailure, EXIT, type ExitCode } from '../failure.ts'

/** Where to listen. */
export interface Place {
  readonly port: number
  readonly host: string
}

/** What is wrong, and whether another try can help. */
const REASONS: Readonly<Record<string, readonly [string, ExitCode]>> = {
  EADDRINUSE: ['is in use. Stop what uses it, or specify another one', EXIT.unavailable],
  EACCES: ['is reserved for the system. Specify one from 1024 on', EXIT.unavailable],
  EADDRNOTAVAIL: ['cannot be opened: the address is not one of this machine. Specify another host beside', EXIT.config],
  ENOTFOUND: ['cannot be opened: the name of the host is not known. Specify another host beside', EXIT.config],
}

/** Returns the port on which a server listens. Throws `CommandFailure`; `flag` names the option for another port. */
export function listen(server: Server, { port, host }: Place, flag: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.on('error', (error: NodeJS.ErrnoException) => {
      const [reason, exitCode] = REASONS[error.code ?? ''] ?? [
        `cannot be opened (${error.code}). Specify another one`,
        EXIT.unavailable,
      ]
      reject(new CommandFailure(exitCode, `Port ${port} of ${host} ${reason} with ${flag}.`, { cause: error }))
    })
    // A server on a port has an address of this form.
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port))
  })
}
