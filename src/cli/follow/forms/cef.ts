/** Events in the Common Event Format, version 0: a header of seven fields, and an extension of pairs. */
import { isIPv4, isIPv6 } from 'node:net'
import { VERSION } from '../../version.ts'
import { type FollowedEvent, resourcesOf, type SealedEvent } from './sealed-event.ts'

/** Most characters of the list of resources: a receiver cuts longer fields, and not at their end. */
const MAX_RESOURCES = 4000

export function toCef({ digest, event }: SealedEvent, { event: listed }: FollowedEvent): string {
  const { context, position, code } = event
  const outcome = code < 400 ? 'success' : 'failure'
  const header = ['strongroom', 'strongroom', VERSION, event.action, `${event.action} ${outcome}`, String(severityOf(code))]
  const resources = resourcesOf(listed).map(({ type, uid }) => `${type}/${uid}`)
  const pairs: readonly (readonly [string, string | undefined])[] = [
    ['rt', String(Date.parse(event.timestamp))],
    ['externalId', event.changeID],
    ['act', event.action],
    ['outcome', outcome],
    ['reason', event.message === '' ? undefined : event.message],
    ['suid', context.actor],
    ['suser', context.userEmail],
    ['src', isIPv4(context.ipAddress) ? context.ipAddress : undefined],
    ...labelled('c6a2', 'Source IPv6 Address', isIPv6(context.ipAddress) ? context.ipAddress : undefined),
    ['dvchost', event.vaultID],
    ...labelled('cn1', 'Code', String(code)),
    ...labelled('cn2', 'Chain', String(position.chain)),
    ...labelled('cn3', 'Sequence', String(position.sequence)),
    ...labelled('cs1', 'Digest', digest),
    ...labelled('cs2', 'Previous digest', position.previous === '' ? undefined : position.previous),
    ...labelled('cs3', 'Request', context.requestID),
    ...labelled('cs4', 'Trace', context.traceID),
    ...labelled('cs5', 'Authentication', [context.authMode, context.keyID].filter((part) => part !== undefined).join(' ')),
    ...labelled('cs6', 'Resources', joinUpTo(resources)),
  ]
  const extension = pairs.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${escapeValue(value)}`]))
  return `CEF:0|${header.map(escapeHeader).join('|')}|${extension.join(' ')}`
}

function labelled(name: string, label: string, value: string | undefined): (readonly [string, string | undefined])[] {
  return value === undefined
    ? []
    : [
        [`${name}Label`, label],
        [name, value],
      ]
}

/** From 0 to 10. */
function severityOf(code: number): number {
  if (code < 400) return 2
  if (code >= 500) return 8
  return code === 401 ? 6 : 4
}

/** Joins as many as fit, and says how many do not. */
function joinUpTo(resources: readonly string[]): string {
  let text = ''
  for (const [index, resource] of resources.entries()) {
    if (text.length + resource.length > MAX_RESOURCES) return `${text} and ${resources.length - index} more`
    text += index === 0 ? resource : ` ${resource}`
  }
  return text
}

function escapeHeader(text: string): string {
  return oneLine(text).replaceAll(/[\\|]/g, '\\$&')
}

function escapeValue(text: string): string {
  return text.replaceAll(/[\\=]/g, '\\$&').replaceAll('\r', '\\r').replaceAll('\n', '\\n')
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ')
}
