/**
 * Launches of templates that the text comes to without knowing for what: in functions that only a table leads to, in methods of a class that only what
 * is in such a table makes. The program of the host was run, and what it launched there are the instances.
 */
import { instanceKey } from '../lower/records';
import type { TemplateValue } from '../lower/types';
import type { HostData } from './host-data';
import type { Launch } from './launches';

/** The launches, with the instances that the run launched in the same places for those of which the text does not tell what they are instances of. */
export function withRunInstances(launches: readonly Launch[], data: HostData | undefined): readonly Launch[] {
  if (!data || !launches.some(mayBeOfOthers)) return launches;
  const keyOf = ({ place }: Launch, instance: string) => `${place.first}<${instance}>`;
  const told = new Set(launches.filter((l) => !isOpenInstance(l)).map((l) => keyOf(l, l.instance)));
  return launches.flatMap((launch) => {
    if (!mayBeOfOthers(launch)) return [launch];
    const instances = instancesAt(launch, data);
    const own = isOpenInstance(launch) && instances.size > 0 ? [] : [launch];
    const others = [...instances].filter(([instance]) => !told.has(keyOf(launch, instance)));
    for (const [instance] of others) told.add(keyOf(launch, instance));
    return [...own, ...others.map(([instance, values]) => ofInstance(launch, instance, values))];
  });
}

/** What the text knows of its arguments is another instance's. */
const ofInstance = (launch: Launch, instance: string, templateArguments: readonly TemplateValue[]): Launch => ({
  ...launch,
  templateArguments,
  instance,
  reached: false,
  key: `${launch.key};${instance}`,
});

function instancesAt(launch: Launch, data: HostData): Map<string, readonly TemplateValue[]> {
  const found = new Map<string, readonly TemplateValue[]>();
  for (const round of data.roundsAt(launch.place.first, undefined)) {
    const values = round.launch.kernel === launch.kernel.name ? data.templateArgumentsOf(round) : undefined;
    if (values?.every(isPlain)) found.set(instanceKey(values), values);
  }
  return found;
}

/** Of a template, by a way that the text does not follow. */
const mayBeOfOthers = (launch: Launch): boolean =>
  launch.templateArguments.length > 0 && (!launch.reached || isOpenInstance(launch));

const isOpenInstance = ({ templateArguments }: Launch): boolean => templateArguments.some(isOpen);

function isOpen(value: TemplateValue): boolean {
  if (value.kind === 'pack') return value.elements.some(isOpen);
  return value.kind === 'unknown' || (value.kind === 'type' && value.type.kind === 'unknown');
}

/** Numbers and types that are the same in every text: records and functions are those of the program that was run. */
function isPlain(value: TemplateValue): boolean {
  if (value.kind === 'pack') return value.elements.every(isPlain);
  return value.kind === 'number' || (value.kind === 'type' && value.type.kind === 'scalar');
}
