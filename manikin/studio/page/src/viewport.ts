// The picture: light, ground, camera. It draws only when something changed.

import {
  Color,
  DirectionalLight,
  Fog,
  type Group,
  HemisphereLight,
  Mesh,
  MeshStandardMaterial,
  NeutralToneMapping,
  PCFShadowMap,
  PerspectiveCamera,
  PlaneGeometry,
  Raycaster,
  Scene,
  ShaderMaterial,
  type Sphere,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { toView } from "./axes";
import { h } from "./dom";
import type { CameraInfo } from "./messages";
import type { SceneColours } from "./theme";

export class Viewport {
  readonly element = h("div", { class: "viewport", "data-testid": "viewport" });
  readonly canvas = h("canvas", { tabIndex: 0, "aria-label": "The scene. Drag a body part to move it." });
  readonly labels = h("div", { class: "labels" });
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(35, 1, 0.02, 200);
  readonly controls: OrbitControls;
  readonly ray = new Raycaster();
  /** Called before each drawing, with the seconds since the last one. */
  readonly beforeDraw: ((seconds: number) => void)[] = [];
  drawn = 0;
  private readonly renderer: WebGLRenderer;
  private readonly sun = new DirectionalLight("#fffaf3", 2.3);
  private readonly hemisphere = new HemisphereLight("#fdfbf8", "#cbbfb0", 1.9);
  private readonly floor: Mesh<PlaneGeometry, MeshStandardMaterial>;
  private readonly grid: Mesh<PlaneGeometry, ShaderMaterial>;
  private readonly sunny = new Vector3(2, 5, 3);
  private dirty = true;
  private last = 0;

  /** firstPointer receives presses before the camera does. fps: the most frames per second. */
  constructor(firstPointer: (canvas: HTMLCanvasElement) => void, fps: number) {
    this.element.append(this.canvas, this.labels);
    this.renderer = new WebGLRenderer({ canvas: this.canvas, antialias: true, powerPreference: "high-performance" });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.toneMapping = NeutralToneMapping;
    this.renderer.toneMappingExposure = 1.0;

    firstPointer(this.canvas);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.18;
    this.controls.minDistance = 0.3;
    this.controls.maxDistance = 40;
    this.controls.maxPolarAngle = 0.53 * Math.PI;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", () => this.invalidate());

    const shadow = this.sun.shadow;
    this.sun.castShadow = true;
    shadow.mapSize.set(2048, 2048);
    shadow.radius = 4;
    shadow.bias = -0.0004;
    shadow.normalBias = 0.012;
    Object.assign(shadow.camera, { left: -2.6, right: 2.6, top: 2.6, bottom: -2.6, near: 0.5, far: 16 });
    this.scene.add(this.sun, this.sun.target, this.hemisphere);

    this.floor = new Mesh(new PlaneGeometry(200, 200), new MeshStandardMaterial({ roughness: 0.95 }));
    this.floor.rotation.x = -Math.PI / 2;
    this.floor.position.y = -0.002;
    this.floor.receiveShadow = true;
    this.grid = gridLines();
    this.scene.add(this.floor, this.grid);
    this.scene.fog = new Fog("#ffffff", 9, 30);
    this.look({ azimuth: 38, elevation: -9, distance: 4.2, at: [0, 0, 0.9] });

    // three.js rebuilds its resources; we only have to redraw
    this.canvas.addEventListener("webglcontextrestored", () => this.invalidate());
    new ResizeObserver(() => this.resize()).observe(this.element);
    this.loop(fps);
  }

  /** Shapes and textures on the graphics card. */
  get memory(): { geometries: number; textures: number } {
    const { geometries, textures } = this.renderer.info.memory;
    return { geometries, textures };
  }

  invalidate(): void {
    this.dirty = true;
  }

  colours(colours: SceneColours): void {
    const sky = new Color(colours.sky);
    this.scene.background = sky;
    (this.scene.fog as Fog).color = sky;
    this.floor.material.color = new Color(colours.floor);
    this.grid.material.uniforms.colour!.value = new Color(colours.grid);
    this.sun.intensity = 2.3 * colours.light;
    this.hemisphere.intensity = 1.9 * colours.light;
    this.invalidate();
  }

  /** Use the camera of a scene: its azimuth is relative to the character's front. */
  look(camera: CameraInfo): void {
    const [azimuth, elevation] = [((180 + camera.azimuth) * Math.PI) / 180, (camera.elevation * Math.PI) / 180];
    const ahead = toView([
      Math.cos(elevation) * Math.cos(azimuth),
      Math.cos(elevation) * Math.sin(azimuth),
      Math.sin(elevation),
    ]);
    this.controls.target.copy(toView(camera.at));
    this.camera.position.copy(this.controls.target).addScaledVector(ahead, -camera.distance);
    this.controls.update();
    // from behind the viewer's left shoulder
    this.sunny.set(-ahead.x, 0, -ahead.z).normalize().applyAxisAngle(new Vector3(0, 1, 0), -0.75).multiplyScalar(3.6).setY(5.2);
    this.invalidate();
  }

  /** Keep the direction, choose the distance so that the sphere fills the picture. */
  frame(sphere: Sphere): void {
    const half = (this.camera.fov * Math.PI) / 360;
    const distance = (sphere.radius * 1.25) / Math.sin(Math.min(half, Math.atan(Math.tan(half) * this.camera.aspect)));
    const back = this.camera.position.clone().sub(this.controls.target).setLength(distance);
    this.controls.target.copy(sphere.center);
    this.camera.position.copy(sphere.center).add(back);
    this.controls.update();
    this.invalidate();
  }

  /** Move camera and what it looks at together. */
  shift(by: Vector3): void {
    this.camera.position.add(by);
    this.controls.target.add(by);
  }

  /** Move the light to where the action is, so that its shadow stays sharp. */
  lightAt(point: Vector3): void {
    this.sun.target.position.set(point.x, 0.8, point.z);
    this.sun.position.copy(this.sun.target.position).add(this.sunny);
  }

  rayAt(x: number, y: number): Raycaster {
    const box = this.canvas.getBoundingClientRect();
    const at = new Vector2(((x - box.left) / box.width) * 2 - 1, 1 - ((y - box.top) / box.height) * 2);
    this.ray.setFromCamera(at, this.camera);
    return this.ray;
  }

  /** Where a point is on the screen [CSS pixels of the page]; undefined behind the camera. */
  project(point: Vector3): { x: number; y: number } | undefined {
    const p = point.clone().project(this.camera);
    if (p.z > 1) return undefined;
    const box = this.canvas.getBoundingClientRect();
    return { x: box.left + ((p.x + 1) / 2) * box.width, y: box.top + ((1 - p.y) / 2) * box.height };
  }

  /** Metres per pixel at a point, for things that keep their size on the screen. */
  metresPerPixel(point: Vector3): number {
    const distance = point.clone().sub(this.camera.position).dot(this.camera.getWorldDirection(new Vector3()));
    return (2 * Math.max(distance, 0.01) * Math.tan((this.camera.fov * Math.PI) / 360)) / Math.max(1, this.canvas.clientHeight);
  }

  add(thing: Group): void {
    this.scene.add(thing);
    this.invalidate();
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    // a narrow picture must still show a whole figure
    this.camera.fov = width < height ? 48 : 35;
    this.camera.updateProjectionMatrix();
    this.invalidate();
  }

  private loop(fps: number): void {
    const least = fps > 0 ? 1000 / fps - 2 : 0;
    const tick = (now: number) => {
      requestAnimationFrame(tick);
      if (now - this.last < least || document.hidden) return;
      this.controls.update();
      if (!this.dirty) return;
      this.dirty = false;
      const seconds = Math.min(0.1, (now - this.last) / 1000);
      this.last = now;
      for (const call of this.beforeDraw) call(seconds);
      this.renderer.render(this.scene, this.camera);
      this.drawn++;
    };
    requestAnimationFrame(tick);
  }
}

/** Lines every metre and, fainter, every quarter, that fade into the distance. */
function gridLines(): Mesh<PlaneGeometry, ShaderMaterial> {
  const material = new ShaderMaterial({
    transparent: true,
    depthWrite: false,
    uniforms: { colour: { value: new Color("#999") } },
    vertexShader: `
      varying vec3 place;
      void main() {
        vec4 world = modelMatrix * vec4(position, 1.0);
        place = world.xyz;
        gl_Position = projectionMatrix * viewMatrix * world;
      }`,
    fragmentShader: `
      uniform vec3 colour;
      varying vec3 place;
      float lines(float spacing, float width) {
        vec2 at = place.xz / spacing;
        vec2 blur = fwidth(at);
        vec2 far = abs(fract(at - 0.5) - 0.5) / max(blur, vec2(1e-5));
        float line = 1.0 - min(min(far.x, far.y) / width, 1.0);
        return line * (1.0 - smoothstep(0.25, 0.6, max(blur.x, blur.y)));
      }
      void main() {
        float fade = 1.0 - smoothstep(3.0, 14.0, distance(place, cameraPosition));
        float alpha = fade * (0.55 * lines(1.0, 1.3) + 0.18 * lines(0.25, 1.0));
        gl_FragColor = vec4(colour, alpha);
        #include <colorspace_fragment>
      }`,
  });
  const mesh = new Mesh(new PlaneGeometry(60, 60), material);
  mesh.rotation.x = -Math.PI / 2;
  mesh.position.y = 0.0005;
  return mesh;
}
