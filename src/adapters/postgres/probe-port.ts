/** Asks a port whether PostgreSQL speaks there, after a connection failed for no reason that the driver could say. */

/** The request for TLS, which a PostgreSQL server answers with one letter before anything else is said. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
/** S and N: TLS is offered, or not. An error begins with E. */
const ANSWERS = /^(?:[SN]$|E\0)/
/** Longest wait for the answer, in milliseconds. A server that speaks first or answers at all does so at once. */
const WAIT_MS = 2000

/** An address as a client of `pg` has it. A host that begins with `/` is a folder of sockets. */
export interface PortAddress {
  readonly host: string
  readonly port: number
}

/** The address that a pool of `pg` connects to; undefined if it does not say. */
export function addressOf(pool: object | undefined): PortAddress | undefined {
  if (pool === undefined) return undefined
  try {
    const Client: unknown = Reflect.get(pool, 'Client')
    if (typeof Client !== 'function') return undefined
    // A client reads connection strings and the environment. It connects only when asked to.
    const client: unknown = Reflect.construct(Client, [Reflect.get(pool, 'options')])
    const [host, port] = [Reflect.get(Object(client), 'host'), Reflect.get(Object(client), 'port')]
    return typeof host === 'string' && typeof port === 'number' ? { host, port } : undefined
  } catch {
    return undefined
  }
}

/** True if something answers that is not PostgreSQL. False if nothing does. */
export async function speaksOtherwiseAt({ host, port }: PortAddress): Promise<boolean> {
  // Needed after a failure alone, and not there in every runtime that the driver runs in.
  const net = await import('node:net').catch(() => undefined)
  if (net === undefined) return false
  const socket = host.startsWith('/') ? net.connect(`${host}/.s.PGSQL.${port}`) : net.connect(port, host)
  return new Promise((resolve) => {
    const timer = setTimeout(() => end(false), WAIT_MS)
    function end(isOther: boolean): void {
      clearTimeout(timer)
      socket.destroy()
      resolve(isOther)
    }
    socket
      .on('connect', () => socket.write(TLS_REQUEST))
      .on('data', (bytes) => end(!ANSWERS.test(bytes.toString('latin1'))))
      .on('error', () => end(false))
      .on('close', () => end(false))
  })
}
