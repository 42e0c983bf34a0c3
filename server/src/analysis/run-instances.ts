/**
 * Launches of templates that the text comes to without knowing for what: in a method that only a table of functions leads to, in a class that only what
 * it makes instantiates. The program of the host was run, and what it launched there are the instances.
 */
import { instanceKey } from '../lower/records';
import type { TemplateValue } from '../lower/types';
import type { HostData } from './host-data';
import type { Launch } from './launches';

/** The launches, those of which template arguments are open replaced by the instances that the run launched in the same place. */
export function withRunInstances(launches: readonly Launch[], data: HostData | undefined): readonly Launch[] {
  if (!data || !launches.some(isOpenInstance)) return launches;
  const told = new Set<string>();
  return launches.flatMap((launch) => {
    if (!isOpenInstance(launch)) return [launch];
    const instances = instancesAt(launch, data);
    if (instances.size === 0) return [launch];
    return [...instances].flatMap(([instance, templateArguments]) => {
      const place = `${launch.place.first}<${instance}>`;
      if (told.has(place)) return [];
      told.add(place);
      return [{ ...launch, templateArguments, instance, key: `${launch.key};${instance}` }];
    });
  });
}

function instancesAt(launch: Launch, data: HostData): Map<string, readonly TemplateValue[]> {
  const found = new Map<string, readonly TemplateValue[]>();
  for (const round of data.roundsAt(launch.place.first, undefined)) {
    const values = round.launch.kernel === launch.kernel.name ? data.templateArgumentsOf(round) : undefined;
    if (values?.every(isPlain)) found.set(instanceKey(values), values);
  }
  return found;
}

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
