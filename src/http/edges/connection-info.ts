/** The address of a client, from what servers pass beside a web request. */

/** What a server knows of a connection beside the request. */
export interface ConnectionInfo {
  /** IP address of the client, for events. Default: empty. */
  readonly address?: string
}

/** Returns the address; empty if there is none. Known are `ConnectionInfo`, the server of Bun, the info of Deno, and the bindings of @hono/node-server. */
export function addressOf(request: Request, info: unknown): string {
  if (!isObject(info)) return ''
  const candidates = [
    () => info.address,
    () => read(typeof info.requestIP === 'function' ? info.requestIP(request) : undefined, 'address'),
    () => read(info.remoteAddr, 'hostname'),
    () => read(read(info.incoming, 'socket'), 'remoteAddress'),
  ]
  for (const candidate of candidates) {
    const address = candidate()
    // Bindings of a host can have a member of the same name.
    if (typeof address === 'string' && /^(?=.*[.:])[\da-f.:]{2,45}(?:%[\w.-]{1,32})?$/i.test(address)) return address
  }
  return ''
}

function read(from: unknown, name: string): unknown {
  return isObject(from) ? from[name] : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
