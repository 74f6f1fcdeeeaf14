/** The target of a request as the router reads it. */

/** Returns path and query of a target, as received. One in absolute form, as proxies send it, begins with scheme and host. */
export function targetOf(url: string): string {
  if (url.startsWith('/')) return url
  const start = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i.exec(url)?.[0].length ?? 0
  const target = url.slice(start).replace(/#.*$/s, '')
  return start > 0 && !target.startsWith('/') ? `/${target}` : target
}
